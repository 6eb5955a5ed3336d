/**
 * Escapes Markdown that Slack renders itself (streams, Markdown blocks). An invisible character after `<` prevents that
 * `<!channel>`, `<@U1>` and `<#C1>` mention anyone.
 *
 * The escaped start of a text is the start of the escaped text, if `withoutPartialMention` has cut it.
 */
export function escapeMentions(text: string): string {
  return text.replace(/<(?=[!@#])/g, '<\u2060')
}

/** Removes a trailing `<`, because the next character decides whether it must be escaped. */
export function withoutPartialMention(text: string): string {
  return text.endsWith('<') ? text.slice(0, -1) : text
}
