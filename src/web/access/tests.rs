//! Who may do what: tokens, hosts, origins, forms.

use super::*;

#[test]
fn a_token_is_presented_as_bearer_or_as_a_password() {
    for (value, token) in [
        ("Bearer abc", Some("abc")),
        ("bearer  abc ", Some("abc")),
        ("Basic bWU6YWJj", Some("abc")),
        ("Basic OmE6Yg==", Some("a:b")),
        ("Basic bWU=", Some("")),
        ("Digest x", Some("")),
    ] {
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())]);
        assert_eq!(presented(&headers).as_deref(), token, "{value}");
    }
    assert_eq!(presented(&HeaderMap::new()), None);
    let broken = HeaderMap::from_iter([(header::AUTHORIZATION, "Basic !!!".parse().unwrap())]);
    assert_eq!(presented(&broken), None);
}

#[test]
fn an_address_says_what_listener_it_is() {
    for (address, listener) in [
        ("127.0.0.1:8474", Listener::Loopback),
        ("127.8.8.8:80", Listener::Loopback),
        ("[::1]:8474", Listener::Loopback),
        ("[::ffff:127.0.0.1]:8474", Listener::Loopback),
        ("0.0.0.0:8474", Listener::Network),
        ("[::]:8474", Listener::Network),
        ("192.168.1.7:8474", Listener::Network),
    ] {
        assert_eq!(Access::tcp(address.parse().unwrap(), vec![]).listener, listener, "{address}");
    }
}

#[test]
fn a_role_that_is_not_known_may_nothing() {
    assert_eq!(Role::from_word("superuser"), Role::Unknown);
    assert_eq!(Role::from_word("agent"), Role::Agent);
    let viewer = Viewer::Token { id: 1, name: "x".into(), role: Role::Agent, organization: Organization::default() };
    assert!(!viewer.may_read(&Organization::default()) && !viewer.may_change(&Organization::default()));
}
