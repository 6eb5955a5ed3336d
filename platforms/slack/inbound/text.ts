/**
 * Converts Slack's markup for users, channels and links to plain text.
 */

export interface TextContext {
  readonly botUserId: string
  /** The name of a user or channel, if it is known already. */
  nameOf(id: string): string | undefined
}

/** Removes mentions of the bot and converts the rest to plain text. Runs in linear time. */
export function toPlainText(text: string, context: TextContext): string {
  let hasMention = false
  const plain = text.replace(/<([^<>]*)>([ \t]?)/g, (_whole, inner: string, space: string) => {
    const [target = '', label] = splitOnce(inner, '|')
    if (target === `@${context.botUserId}`) {
      hasMention = true
      return ''
    }
    return `${entityText(target, label, context)}${space}`
  })
  const decoded = plain.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
  return hasMention ? decoded.trim() : decoded
}

function entityText(target: string, label: string | undefined, context: TextContext): string {
  if (target.startsWith('@')) return `@${label ?? context.nameOf(target.slice(1)) ?? target.slice(1)}`
  if (target.startsWith('#')) return `#${label || (context.nameOf(target.slice(1)) ?? target.slice(1))}`
  if (target.startsWith('!')) return specialMentionText(target.slice(1), label)
  const address = target.replace(/^mailto:/, '')
  if (label === undefined || label === '' || address.endsWith(label)) return address
  return `${label} (${address})`
}

/** `<!here>`, `<!subteam^S1|@team>`, `<!date^1^{date}|in words>`. */
function specialMentionText(name: string, label: string | undefined): string {
  if (label !== undefined && label !== '') return name.startsWith('date^') ? label : `@${label.replace(/^@/, '')}`
  return `@${splitOnce(name, '^')[0]}`
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
