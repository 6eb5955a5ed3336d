/**
 * Markdown that Slack draws itself (streams, Markdown blocks), with what would call people taken out: an invisible sign
 * behind `<` keeps `<!channel>`, `<@U1>` and `<#C1>` from being read as such.
 *
 * The result for a beginning of a text is a beginning of the result for the whole, where `streamable` has cut it.
 */
export function escapeMentions(text: string): string {
  return text.replace(/<(?=[!@#])/g, '<\u2060')
}

/** As much of a growing text as can be told already: not a `<` whose next sign is not there yet. */
export function withoutPartialMention(text: string): string {
  return text.endsWith('<') ? text.slice(0, -1) : text
}
