//! Completions for shells and manual pages, made from the arguments themselves.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Command, ValueHint};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::error::On;
use crate::say::shown;

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write the pages of all subcommands here [default: print the page of turntile]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    directory: Option<PathBuf>,
}

/// Returns the completions of a shell.
pub fn completions(args: &CompletionsArgs, command: &mut Command) -> String {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, command, "turntile", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns the page of the command, or writes all pages and returns where.
pub fn manual(args: &ManArgs, command: Command) -> Result<String> {
    let Some(directory) = &args.directory else {
        let mut text = Vec::new();
        Man::new(command).render(&mut text)?;
        return Ok(String::from_utf8_lossy(&text).into_owned());
    };
    fs::create_dir_all(directory).on("create", directory)?;
    clap_mangen::generate_to(command, directory).on("write pages to", directory)?;
    Ok(format!("wrote turntile.1 and a page of each subcommand to {}", shown(directory)))
}
