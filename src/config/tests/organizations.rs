//! `[[organization]]`: weights and floors, and what is none.

use super::*;
use crate::domain::part::Part;

#[test]
fn an_organization_has_a_weight_and_a_floor() {
    let said =
        sound("[[organization]]\nname = \"acme\"\nweight = 2\nfloor = \"20%\"\n[[organization]]\nname = \"globex\"\n");
    let part = |name: &str| said.organizations.get(&Organization::from(name)).copied();
    assert_eq!(part("acme"), Some(Part { weight: 2, floor: 20 }));
    assert_eq!((part("globex"), part("other")), (Some(Part::default()), None));
}

#[test]
fn what_is_wrong_is_named() {
    for (keys, words) in [
        ("weight = 2", "which organization is meant"),
        ("name = \"acme\"\nweight = 0", "from 1 to 1000"),
        ("name = \"acme\"\nfloor = \"120%\"", "from \"0%\" to \"100%\""),
        ("name = \"acme\"\nfloor = \"2\"", "write a percentage"),
        ("name = \"acme\"\nwheight = 2", "did you mean"),
        ("name = \"acme\"\n[[organization]]\nname = \"acme\"", "another organization named \"acme\""),
    ] {
        let said = wrong(&format!("[[organization]]\n{keys}\n"));
        assert!(said.contains(words), "{keys}: {said}");
    }
}
