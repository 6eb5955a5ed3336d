/**
 * Escapes Markdown that Slack renders itself (streams, Markdown blocks).
 *
 * It is standard Markdown, in which a backslash escapes (`\*not italic\*`), so the backslashes of formulas are escaped:
 * https://docs.slack.dev/reference/block-kit/blocks/markdown-block
 */
import { escapeMath } from '#sdk'

export async function escapeMarkdown(text: string): Promise<string> {
  return escapeMentions(await escapeMath(text, { isPartial: false }))
}

/** The start of a growing text. It is the start of every later result, and of that of `escapeMarkdown`. */
export async function escapeGrowingMarkdown(text: string): Promise<string> {
  return escapeMentions(await escapeMath(withoutPartialMention(text), { isPartial: true }))
}

/**
 * An invisible character after `<` prevents that `<!channel>`, `<@U1>` and `<#C1>` mention anyone, also where `<` is a character
 * reference, which Markdown decodes.
 *
 * The escaped start of a text is the start of the escaped text, if `withoutPartialMention` has cut it.
 */
function escapeMentions(text: string): string {
  return text.replace(/(<|&(?:lt|#0{0,5}60|#x0{0,5}3c);)(?=[!@#])/gi, '$1\u2060')
}

/** Removes a trailing `<` or character reference, because the next character decides whether it must be escaped. */
function withoutPartialMention(text: string): string {
  return text.replace(/(?:<|&[#\w]{0,9};?)$/, '')
}
