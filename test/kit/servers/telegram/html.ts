/**
 * Telegram's HTML mode, read as strictly as Telegram reads it: a message that it would refuse is refused here, in its words.
 */

/** A part of the text and how it is shown. Offsets count UTF-16 units. */
export interface Entity {
  readonly type: string
  readonly offset: number
  readonly length: number
  readonly url?: string
  readonly language?: string
}

export interface ParsedText {
  readonly text: string
  readonly entities: readonly Entity[]
}

/** Thrown for what Telegram does not read; the message is Telegram's. */
export class ParseError extends Error {}

const kinds: Readonly<Record<string, string>> = {
  b: 'bold',
  strong: 'bold',
  i: 'italic',
  em: 'italic',
  u: 'underline',
  ins: 'underline',
  s: 'strikethrough',
  strike: 'strikethrough',
  del: 'strikethrough',
  span: 'spoiler',
  'tg-spoiler': 'spoiler',
  'tg-emoji': 'custom_emoji',
  a: 'text_link',
  code: 'code',
  pre: 'pre',
  blockquote: 'blockquote',
}

interface OpenTag {
  readonly tag: string
  readonly attribute: string
  /** Where its text begins. */
  readonly offset: number
}

/** Throws `ParseError`. */
export function parseHtml(source: string): ParsedText {
  let text = ''
  let at = 0
  const open: OpenTag[] = []
  const entities: Entity[] = []
  const byte = (index: number) => Buffer.byteLength(source.slice(0, index))

  while (at < source.length) {
    const char = source[at] ?? ''
    if (char === '&') {
      const [whole = '&', decoded = '&'] = entityAt(source, at)
      text += decoded
      at += whole.length
    } else if (char !== '<') {
      text += char
      at += 1
    } else if (source[at + 1] === '/') {
      at = close(at)
    } else {
      at = begin(at)
    }
  }
  const left = open.at(-1)
  if (left !== undefined) {
    throw new ParseError(`Can't find end tag corresponding to start tag "${left.tag}"`)
  }
  return trimmed(text, entities)

  function begin(from: number): number {
    const found = /^<([a-z][a-z0-9-]*)((?:\s+[a-z-]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[a-z0-9.-]+))?)*)\s*>/i.exec(
      source.slice(from),
    )
    if (found === null) {
      const name = /^<([^\s>]*)/.exec(source.slice(from))?.[1] ?? ''
      if (!source.includes('>', from)) throw new ParseError(`Unclosed start tag at byte offset ${byte(from)}`)
      throw new ParseError(`Unsupported start tag "${name}" at byte offset ${byte(from)}`)
    }
    const [whole, name = '', attributes = ''] = found
    const tag = name.toLowerCase()
    const isKnown = Object.hasOwn(kinds, tag) && (tag !== 'span' || /class\s*=\s*["']?tg-spoiler/.test(attributes))
    if (!isKnown) throw new ParseError(`Unsupported start tag "${tag}" at byte offset ${byte(from)}`)
    open.push({ tag, attribute: attributeIn(attributes), offset: text.length })
    return from + whole.length
  }

  function close(from: number): number {
    const end = source.indexOf('>', from)
    if (end === -1) throw new ParseError(`Unclosed end tag at byte offset ${byte(from)}`)
    const tag = source
      .slice(from + 2, end)
      .trim()
      .toLowerCase()
    const opened = open.pop()
    if (opened === undefined) throw new ParseError(`Unexpected end tag at byte offset ${byte(from)}`)
    if (tag !== '' && tag !== opened.tag) {
      throw new ParseError(
        `Unmatched end tag at byte offset ${byte(from)}, expected "</${opened.tag}>", found "</${tag}>"`,
      )
    }
    add(opened)
    return end + 1
  }

  function add({ tag, attribute, offset }: OpenTag): void {
    const length = text.length - offset
    if (length === 0) return
    const type = kinds[tag] ?? ''
    // A link that leads nowhere is only its text.
    if (tag === 'a' && !/^(https?|tg|ton):\/\//i.test(attribute)) return
    const language = tag === 'code' && attribute.startsWith('language-') ? attribute.slice(9) : undefined
    const inner = entities.find((one) => one.type === 'code' && one.offset === offset && one.length === length)
    if (tag === 'pre' && inner?.language !== undefined) {
      entities.splice(entities.indexOf(inner), 1, { type, offset, length, language: inner.language })
      return
    }
    entities.push({
      type,
      offset,
      length,
      ...(tag === 'a' ? { url: attribute } : {}),
      ...(language === undefined ? {} : { language }),
    })
  }
}

function attributeIn(attributes: string): string {
  const [, double, single, bare] = /(?:href|class|emoji-id)\s*=\s*(?:"([^"]*)"|'([^']*)'|(\S+))/i.exec(attributes) ?? []
  const value = double ?? single ?? bare ?? ''
  return value.replace(/&(?:lt|gt|amp|quot|#\d+|#x[0-9a-f]+);/gi, (whole) => entityAt(whole, 0)[1])
}

/** The entity that begins here and what it means; an ampersand that begins none stands for itself. */
function entityAt(source: string, at: number): readonly [string, string] {
  const [whole, name = ''] = /^&(lt|gt|amp|quot|#\d{1,7}|#x[0-9a-f]{1,6});?/i.exec(source.slice(at, at + 12)) ?? []
  if (whole === undefined) return ['&', '&']
  const named: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' }
  const known = named[name.toLowerCase()]
  if (known !== undefined) return [whole, known]
  const code = name[1] === 'x' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
  return code > 0 && code <= 0x10ffff ? [whole, String.fromCodePoint(code)] : [whole, '']
}

/** Blanks at both ends are taken away, and what was marked there with them. */
export function trimmed(text: string, entities: readonly Entity[]): ParsedText {
  const cut = text.trimStart()
  const start = text.length - cut.length
  const clean = cut.trimEnd()
  const kept = entities.flatMap((entity) => {
    const from = Math.max(0, entity.offset - start)
    const to = Math.min(clean.length, entity.offset + entity.length - start)
    return to > from ? [{ ...entity, offset: from, length: to - from }] : []
  })
  return { text: clean, entities: kept.sort((one, other) => one.offset - other.offset || other.length - one.length) }
}
