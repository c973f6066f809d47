//! `#[derive(Record)]`, documented where it is used: [`turntile::layout`](https://docs.rs/turntile/latest/turntile/layout).
//!
//! What the derive promises in the `unsafe` that it writes, it has the compiler check: a structure for which that does not
//! hold does not compile.
#![allow(unsafe_code)]

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Fields, Path, parse_macro_input};

/// A `#[repr(C)]` structure of plain data without padding becomes a record, and each of its fields a column: field `rho` of
/// `Cell` is `Cell::RHO`. It implements bytemuck's `Pod` and `Zeroable` too; where they are derived already,
/// `#[record(pod)]` leaves them out.
#[proc_macro_derive(Record, attributes(record))]
pub fn derive_record(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    record(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn record(input: &DeriveInput) -> Result<TokenStream, Error> {
    let name = &input.ident;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(name.span(), "a record is a structure"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new(
            name.span(),
            "a record has fields with names, after which its columns are called",
        ));
    };
    if fields.named.is_empty() {
        return Err(Error::new(name.span(), "a record has at least one field"));
    }
    if !input.generics.params.is_empty() {
        let why =
            "a record has no parameters: whether it is plain data without padding is checked once";
        return Err(Error::new(input.generics.span(), why));
    }
    check_repr(input)?;
    let is_pod = has_pod(&input.attrs)?;

    let (mut columns, mut entries, mut checks) = (Vec::new(), Vec::new(), Vec::new());
    // Where the fields before end, and what they are called.
    let (mut end, mut before) = (quote!(0usize), format!("the start of `{name}`"));
    for (index, field) in fields.named.iter().enumerate() {
        let (vis, ty) = (&field.vis, &field.ty);
        let ident = field.ident.as_ref().expect("it has a name");
        let called = ident.unraw().to_string();
        let column = format_ident!("{}", called.to_uppercase(), span = ident.span());
        let about = format!("The column of `{called}`.");
        columns.push(quote_spanned! {ty.span()=>
            #[doc = #about]
            #[allow(dead_code)]
            #vis const #column: ::turntile::layout::Column<#name, #ty> = ::turntile::layout::Column::of_field(#index);
        });
        let offset = quote!(::core::mem::offset_of!(#name, #ident));
        entries.push(quote!(::turntile::layout::Field::new::<#ty>(#offset)));
        let padding =
            format!("padding between {before} and `{called}`: name it, as a field of bytes");
        let packed = format!("`{called}` lies unaligned in `{name}`: a record is not packed");
        let no_bytes = format!("`{called}` has no bytes: leave it out");
        checks.push(quote_spanned! {ty.span()=>
            assert!(::core::mem::size_of::<#ty>() > 0, #no_bytes);
            assert!(::core::mem::align_of::<#ty>() <= ::core::mem::align_of::<#name>(), #packed);
            assert!(#offset == #end, #padding);
        });
        end = quote!(#offset + ::core::mem::size_of::<#ty>());
        before = format!("`{called}`");
    }
    let padding = format!("padding behind {before}: name it, as a field of bytes");
    let pod = (!is_pod).then(|| {
        quote! {
            // SAFETY: a structure without parameters, all of whose fields are `Pod`, since columns are of such alone; they
            // fill it from its first byte to its last, which is asserted below.
            unsafe impl ::turntile::layout::bytemuck::Zeroable for #name {}
            unsafe impl ::turntile::layout::bytemuck::Pod for #name {}
        }
    });
    Ok(quote! {
        impl #name {
            #(#columns)*
        }
        #pod
        impl ::turntile::layout::Record for #name {
            const FIELDS: &'static [::turntile::layout::Field] =
                &::turntile::layout::Field::in_columns([#(#entries),*]);
        }
        const _: () = {
            #(#checks)*
            assert!(#end == ::core::mem::size_of::<#name>(), #padding);
        };
    })
}

/// Fields in the order in which they are given, aligned.
fn check_repr(input: &DeriveInput) -> Result<(), Error> {
    let mut in_order = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("packed") {
                return Err(meta.error("a record is not packed: its columns would lie unaligned"));
            }
            in_order |= is_any(&meta.path, &["C", "transparent"]);
            // align(N), whose number is the compiler's matter.
            if meta.input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in meta.input);
                content.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    let why = "a record is #[repr(C)], so that its fields lie in the order in which they are given";
    if in_order { Ok(()) } else { Err(Error::new(input.ident.span(), why)) }
}

fn is_any(path: &Path, names: &[&str]) -> bool {
    names.iter().any(|name| path.is_ident(name))
}

/// Whether `#[record(pod)]` says that the structure is `Pod` without this derive.
fn has_pod(attributes: &[Attribute]) -> Result<bool, Error> {
    let mut found = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("record")) {
        attribute.parse_nested_meta(|meta| {
            found = true;
            if meta.path.is_ident("pod") {
                Ok(())
            } else {
                Err(meta.error("`record` takes `pod` alone"))
            }
        })?;
    }
    Ok(found)
}
