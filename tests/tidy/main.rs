//! Reads the tree and refuses what would spoil the plan of the house.
//!
//! Each rule is a function of a tree of files, so that each is shown wrong trees here as well: a
//! rule that cannot fail guards nothing. What a rule allows stands as a table in its file.

#![allow(clippy::unwrap_used, reason = "all of this program is tests")]

mod borders;
mod channels;
mod finding;
mod instants;
mod keys;
mod names;
mod parents;
mod pure;
mod size;
mod source;
mod sql;
mod tables;
mod tree;
mod view;
mod words;

use finding::Finding;
use tree::Tree;

/// Shows a rule the whole tree.
fn holds(rule: fn(&Tree) -> Vec<Finding>) {
    let tree = Tree::read(env!("CARGO_MANIFEST_DIR"));
    assert!(tree.files().len() > 20, "the tree was not found");
    let found = rule(&tree);
    let lines: Vec<String> = found.iter().map(Finding::to_string).collect();
    assert!(
        lines.is_empty(),
        "{} times untidy:\n{}\n",
        lines.len(),
        lines.join("\n")
    );
}

#[test]
fn rule_1_a_floor_depends_only_on_what_the_plan_grants_it() {
    holds(view::check);
}

#[test]
fn rule_2_what_is_pure_imports_the_model_and_std_only() {
    holds(pure::check);
}

#[test]
fn rule_3_sql_http_and_xml_stay_in_their_rooms() {
    holds(borders::check);
}

#[test]
fn rule_4_a_table_is_named_by_its_owner_only() {
    holds(tables::check);
}

#[test]
fn rule_5_a_channels_code_is_written_in_its_own_folder_only() {
    holds(channels::check_codes);
}

#[test]
fn rule_6_every_channel_folder_has_the_five_names_and_fixtures() {
    holds(channels::check_folders);
}

#[test]
fn rule_7_files_functions_and_lines_are_short() {
    holds(size::check);
}

#[test]
fn rule_8_no_forbidden_name_and_nothing_left_to_do() {
    holds(names::check);
}

#[test]
fn rule_9_a_file_imports_from_the_room_that_defines_the_thing() {
    holds(parents::check);
}

#[test]
fn rule_10_the_default_configuration_and_the_settings_have_the_same_keys() {
    holds(keys::check);
}

#[test]
fn rule_11_the_project_speaks_of_itself_alone() {
    holds(words::check);
}

#[test]
fn rule_12_a_query_asks_for_the_time_once() {
    holds(instants::check);
}
