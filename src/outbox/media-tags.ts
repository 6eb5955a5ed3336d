/**
 * Finds what in one line of a reply stands for a file to be sent (contract §3.8): `MEDIA:<path>`, pictures of Markdown
 * and HTML, a path of a media file alone on its line, and the words that say how files are sent.
 */
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMediaName, type MediaKind, mediaKindOf, unknownKind } from './media-kinds.ts'

export type MediaSource =
  | { readonly kind: 'url'; readonly url: string }
  /** As the model wrote it: absolute, or below the home of the user (`~/…`). */
  | { readonly kind: 'file'; readonly path: string }

export interface MediaItem extends MediaKind {
  readonly fileName: string
  /** What stands beside it; '' when nothing does. */
  readonly caption: string
  readonly source: MediaSource
}

/** All audio of the reply is sent as voice notes; all its files are sent as documents. */
export type Directive = 'audio_as_voice' | 'as_document'

export interface Tag {
  /** Places within the line. */
  readonly start: number
  readonly end: number
  readonly meaning: MediaItem | Directive
}

const longestAddress = 2_000

/** Marks of lists, quotes and emphasis, with nothing between them. */
export const onlyMarks = /^[ \t>*_+-]*(?:\d{1,9}[.)][ \t]*)?$/

const beginning = /(?<!\w)MEDIA:|\[\[(?:audio_as_voice|as_document)\]\]|(?<!\\)!\[|<img\b/gi

/** The tags of a line, in order. Takes time in proportion to the line. */
export function tagsOf(line: string): Tag[] {
  const alone = pathAlone(line)
  if (alone !== undefined) return [alone]
  const tags: Tag[] = []
  let from = 0
  for (const { index, 0: word } of line.matchAll(beginning)) {
    if (index < from) continue
    const tag = tagAt(line, index, word)
    if (tag === undefined) continue
    tags.push(tag)
    from = tag.end
  }
  return tags
}

function tagAt(line: string, start: number, word: string): Tag | undefined {
  switch (word) {
    case 'MEDIA:':
      return mediaTag(line, start)
    case '![':
      return markdownImage(line, start)
    case '[[audio_as_voice]]':
      return { start, end: start + word.length, meaning: 'audio_as_voice' }
    case '[[as_document]]':
      return { start, end: start + word.length, meaning: 'as_document' }
    default:
      return word.startsWith('<') ? htmlImage(line, start) : undefined
  }
}

function pathAlone(line: string): Tag | undefined {
  const path = line.trim()
  if (!/^~?\/[^\s/`"'<>|:][^\s`"'<>|:]*$/.test(path) || !isMediaName(path)) return undefined
  const source = sourceOf(path)
  const start = line.indexOf(path)
  return source && { start, end: start + path.length, meaning: item(source) }
}

// Bounded by what an address may have: a line of nothing but tags is looked at once for each of them.
const quoted = /MEDIA:[ \t]{0,100}(?:"([^"]{1,2001})"|'([^']{1,2001})'|`([^`]{1,2001})`)/y
const unquoted = /MEDIA:[ \t]{0,100}([^\s`"'<>]{1,2001})/y
/** Belongs to the sentence around a path, not to the path. */
const punctuation = /[.,;:!?)\]}*_|]+$/

function mediaTag(line: string, start: number): Tag | undefined {
  const between = matchAt(quoted, line, start)
  if (between !== undefined) {
    const source = sourceOf(between[1] ?? between[2] ?? between[3] ?? '')
    return source && { start, end: start + between[0].length, meaning: item(source) }
  }
  const [whole, word] = matchAt(unquoted, line, start) ?? []
  if (whole === undefined || word === undefined || word.length > longestAddress) return undefined
  const path = word.replace(punctuation, '')
  const withBlanks = mediaKindOf(path) === undefined ? restOfLine(line, start) : undefined
  const source = sourceOf(withBlanks ?? path)
  if (source === undefined) return undefined
  const end = withBlanks === undefined ? start + whole.length - word.length + path.length : line.trimEnd().length
  return { start, end, meaning: item(source) }
}

/** A tag that has its line for itself may have a path with blanks. */
function restOfLine(line: string, start: number): string | undefined {
  if (!onlyMarks.test(line.slice(0, start))) return undefined
  const rest = line.slice(start + 'MEDIA:'.length).trim()
  return /^~?\//.test(rest) && mediaKindOf(rest) !== undefined && !/MEDIA:|[`"<>]/.test(rest) ? rest : undefined
}

const markdown =
  /!\[([^\][]{0,300})\]\([ \t]*(?:<([^<>]+)>|((?:[^\s()<>]|\([^\s()<>]*\))+))(?:[ \t]+(?:"[^"]*"|'[^']*'))?[ \t]*\)/y

function markdownImage(line: string, start: number): Tag | undefined {
  const found = matchAt(markdown, line, start)
  if (found === undefined) return undefined
  const end = start + found[0].length
  // A picture that is a link would leave an empty link behind.
  if (line[start - 1] === '[' && line.startsWith('](', end)) return undefined
  return pictureTag(start, end, found[2] ?? found[3] ?? '', found[1] ?? '')
}

const html = /<img\b[^<>]{1,4000}>/iy
const attribute = (name: string) => new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i')
const attributes = { src: attribute('src'), alt: attribute('alt') }

function htmlImage(line: string, start: number): Tag | undefined {
  const [whole] = matchAt(html, line, start) ?? []
  if (whole === undefined) return undefined
  const value = (name: 'src' | 'alt') => {
    const [, ...values] = attributes[name].exec(whole) ?? []
    return withoutEntities(values.find((one) => one !== undefined) ?? '')
  }
  return pictureTag(start, start + whole.length, value('src'), value('alt'))
}

function pictureTag(start: number, end: number, address: string, alt: string): Tag | undefined {
  const source = sourceOf(address.startsWith('/') ? decoded(address) : address)
  if (source === undefined || alt.length > 300) return undefined
  return { start, end, meaning: { ...item(source, picture), caption: alt.trim() } }
}

const picture: MediaKind = { kind: 'image', mimeType: 'image/*' }

function item(source: MediaSource, otherwise = unknownKind): MediaItem {
  const name = nameOf(source)
  const fileName = name === '' ? otherwise.kind : name
  return { ...(mediaKindOf(name) ?? otherwise), fileName, caption: '', source }
}

/** Undefined for what is no address of a file. */
function sourceOf(address: string): MediaSource | undefined {
  if (address.length > longestAddress) return undefined
  if (/^https?:\/\//i.test(address)) return URL.canParse(address) ? { kind: 'url', url: address } : undefined
  const path = /^file:\/\//i.test(address) ? pathOfUrl(address) : address
  return /^~?\/[^/].*(?<!\/)$/.test(path) || /^~?\/[^/]$/.test(path) ? { kind: 'file', path } : undefined
}

function nameOf(source: MediaSource): string {
  const name = basename(source.kind === 'file' ? source.path : decoded(new URL(source.url).pathname))
  return name
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\\]/gu, '')
    .slice(-200)
    .toWellFormed()
}

function pathOfUrl(url: string): string {
  try {
    return fileURLToPath(url)
  } catch {
    return ''
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function withoutEntities(text: string): string {
  return text.replace(/&(?:quot|#39|lt|gt|amp);/g, (entity) => entities[entity] ?? entity)
}

const entities: Readonly<Record<string, string>> = {
  '&quot;': '"',
  '&#39;': "'",
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at
  return pattern.exec(text) ?? undefined
}
