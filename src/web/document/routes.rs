//! Routes of the API, each with what documents it. An appliance that nobody asks for its document does not make it: with all its schemas it
//! is megabytes of structures, which a start would leave behind. Knows neither handlers nor what the document looks like.

use crate::web::WebState;
use axum::Router;
use axum::routing::MethodRouter;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

/// One address, with the methods that it takes. [`listed`] makes it.
pub struct Listed {
    pub path: String,
    pub served: MethodRouter<WebState>,
    /// The same routes with their operations and schemas.
    pub described: fn() -> UtoipaMethodRouter<WebState>,
}

/// Addresses in the order of the document.
#[derive(Default)]
pub struct Routes(Vec<Listed>);

impl Routes {
    pub fn with(mut self, listed: Listed) -> Routes {
        self.0.push(listed);
        self
    }

    pub fn served(self) -> Router<WebState> {
        self.0.into_iter().fold(Router::new(), |router, listed| router.route(&listed.path, listed.served))
    }

    pub fn described(self) -> OpenApiRouter<WebState> {
        self.0.into_iter().fold(OpenApiRouter::new(), |router, listed| router.routes((listed.described)()))
    }
}

/// `listed!(room: handler, ...)`: handlers of one address, each with `#[utoipa::path]`, which says its address and method.
macro_rules! listed {
    ($room:path: $first:ident $(, $other:ident)*) => {
        utoipa_axum::paste! {{
            use $room as room;
            use utoipa::Path as _;
            use utoipa_axum::PathItemExt as _;
            let served = axum::routing::MethodRouter::new();
            let served = room::[<__path_ $first>]::methods().iter().fold(served, |all, m| all.on(m.to_method_filter(), room::$first));
            $(
                let served =
                    room::[<__path_ $other>]::methods().iter().fold(served, |all, m| all.on(m.to_method_filter(), room::$other));
            )*
            $crate::web::document::routes::Listed {
                path: room::[<__path_ $first>]::path(),
                served,
                described: || {
                    use $room as room;
                    utoipa_axum::routes!(room::$first $(, room::$other)*)
                },
            }
        }}
    };
}
pub(in crate::web) use listed;
