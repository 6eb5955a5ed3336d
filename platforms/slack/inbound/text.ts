/**
 * What somebody wrote, as the model reads it: Slack's own markup for people, channels and links made plain.
 */

export interface TextContext {
  readonly botUserId: string
  /** The name of a person, where it is known already. */
  nameOf(userId: string): string | undefined
}

/** Takes mentions of the bot away and turns the rest into plain text. Linear in the length of the text. */
export function toPlainText(text: string, view: TextContext): string {
  let addressed = false
  const plain = text.replace(/<([^<>]*)>([ \t]?)/g, (_whole, inner: string, space: string) => {
    const [target = '', label] = splitOnce(inner, '|')
    if (target === `@${view.botUserId}`) {
      addressed = true
      return ''
    }
    return `${entityText(target, label, view)}${space}`
  })
  const decoded = plain.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
  return addressed ? decoded.trim() : decoded
}

function entityText(target: string, label: string | undefined, view: TextContext): string {
  if (target.startsWith('@')) return `@${label ?? view.nameOf(target.slice(1)) ?? target.slice(1)}`
  if (target.startsWith('#')) return `#${label || target.slice(1)}`
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
