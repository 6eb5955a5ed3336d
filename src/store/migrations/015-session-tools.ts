/**
 * `tools`: the names of the tools that the session is offered, JSON; null for sessions of earlier versions.
 */
export const sessionTools = `
alter table prompts add column tools text;
`
