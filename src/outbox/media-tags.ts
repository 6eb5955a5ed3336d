/**
 * Finds the media tags in a line of a reply (contract §3.8): `MEDIA:<path>`, Markdown and HTML images, the path of a media
 * file alone on its line, and the directives that say how files are sent.
 */

import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { decodeHtmlEntities } from '../lib/html-entities.ts'
import { defaultMediaKind, isMediaFileName, type MediaKind, mediaKindOf } from './media-kinds.ts'

export type MediaSource =
  | { readonly kind: 'url'; readonly url: string }
  /** The path as the model wrote it: absolute, or in the home directory of the user (`~/...`). */
  | { readonly kind: 'file'; readonly path: string }

export interface MediaItem extends MediaKind {
  readonly fileName: string
  /** '' when there is none. */
  readonly caption: string
  readonly source: MediaSource
}

/** Sends all audio files of the reply as voice messages, or all its files as documents. */
export type MediaDirective = 'audio_as_voice' | 'as_document'

export interface MediaTag {
  /** Offsets in the line. */
  readonly start: number
  readonly end: number
  readonly value: MediaItem | MediaDirective
}

const maxAddressChars = 2_000

/** Markers of lists, quotes and emphasis without any text. */
export const markdownPrefix = /^[ \t>*_+-]*(?:\d{1,9}[.)][ \t]*)?$/

const tagStart = /(?<!\w)MEDIA:|\[\[(?:audio_as_voice|as_document)\]\]|(?<!\\)!\[|<img\b/gi

/** The tags of a line, in order. The run time is linear in the length of the line. */
export function findMediaTags(line: string): MediaTag[] {
  const alone = parseBarePath(line)
  if (alone !== undefined) return [alone]
  const tags: MediaTag[] = []
  let from = 0
  for (const { index, 0: word } of line.matchAll(tagStart)) {
    if (index < from) continue
    const tag = parseTagAt(line, index, word)
    if (tag === undefined) continue
    tags.push(tag)
    from = tag.end
  }
  return tags
}

function parseTagAt(line: string, start: number, word: string): MediaTag | undefined {
  switch (word) {
    case 'MEDIA:':
      return parseMediaTag(line, start)
    case '![':
      return parseMarkdownImage(line, start)
    case '[[audio_as_voice]]':
      return { start, end: start + word.length, value: 'audio_as_voice' }
    case '[[as_document]]':
      return { start, end: start + word.length, value: 'as_document' }
    default:
      return word.startsWith('<') ? parseHtmlImage(line, start) : undefined
  }
}

function parseBarePath(line: string): MediaTag | undefined {
  const path = line.trim()
  if (!/^~?\/[^\s/`"'<>|:][^\s`"'<>|:]*$/.test(path) || !isMediaFileName(path)) return undefined
  const source = parseMediaSource(path)
  const start = line.indexOf(path)
  return source && { start, end: start + path.length, value: createMediaItem(source) }
}

// The lengths are bounded, because each tag of a line that consists of tags starts a new match.
const quotedPath = /MEDIA:[ \t]{0,100}(?:"([^"]{1,2001})"|'([^']{1,2001})'|`([^`]{1,2001})`)/y
const unquotedPath = /MEDIA:[ \t]{0,100}([^\s`"'<>]{1,2001})/y
/** Punctuation of the sentence around a path. */
const trailingPunctuation = /[.,;:!?)\]}*_|]+$/

function parseMediaTag(line: string, start: number): MediaTag | undefined {
  const between = matchAt(quotedPath, line, start)
  if (between !== undefined) {
    const source = parseMediaSource(between[1] ?? between[2] ?? between[3] ?? '')
    return source && { start, end: start + between[0].length, value: createMediaItem(source) }
  }
  const [whole, word] = matchAt(unquotedPath, line, start) ?? []
  if (whole === undefined || word === undefined || word.length > maxAddressChars) return undefined
  const path = word.replace(trailingPunctuation, '')
  const pathWithSpaces = mediaKindOf(path) === undefined ? parsePathWithSpaces(line, start) : undefined
  const source = parseMediaSource(pathWithSpaces ?? path)
  if (source === undefined) return undefined
  const end = pathWithSpaces === undefined ? start + whole.length - word.length + path.length : line.trimEnd().length
  return { start, end, value: createMediaItem(source) }
}

/** The path of a tag that is alone on its line may contain blanks. */
function parsePathWithSpaces(line: string, start: number): string | undefined {
  if (!markdownPrefix.test(line.slice(0, start))) return undefined
  const rest = line.slice(start + 'MEDIA:'.length).trim()
  return /^~?\//.test(rest) && mediaKindOf(rest) !== undefined && !/MEDIA:|[`"<>]/.test(rest) ? rest : undefined
}

const markdownImagePattern =
  /!\[([^\][]{0,300})\]\([ \t]*(?:<([^<>]+)>|((?:[^\s()<>]|\([^\s()<>]*\))+))(?:[ \t]+(?:"[^"]*"|'[^']*'))?[ \t]*\)/y

function parseMarkdownImage(line: string, start: number): MediaTag | undefined {
  const match = matchAt(markdownImagePattern, line, start)
  if (match === undefined) return undefined
  const end = start + match[0].length
  // Removing an image from a link would leave an empty link.
  if (line[start - 1] === '[' && line.startsWith('](', end)) return undefined
  return createImageTag(start, end, match[2] ?? match[3] ?? '', match[1] ?? '')
}

const htmlImagePattern = /<img\b[^<>]{1,4000}>/iy
const attributePattern = (name: string) => new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i')
const attributePatterns = { src: attributePattern('src'), alt: attributePattern('alt') }

function parseHtmlImage(line: string, start: number): MediaTag | undefined {
  const [whole] = matchAt(htmlImagePattern, line, start) ?? []
  if (whole === undefined) return undefined
  const value = (name: 'src' | 'alt') => {
    const [, ...values] = attributePatterns[name].exec(whole) ?? []
    return decodeHtmlEntities(values.find((value) => value !== undefined) ?? '')
  }
  return createImageTag(start, start + whole.length, value('src'), value('alt'))
}

function createImageTag(start: number, end: number, address: string, alt: string): MediaTag | undefined {
  const source = parseMediaSource(address.startsWith('/') ? decodeUri(address) : address)
  if (source === undefined || alt.length > 300) return undefined
  return { start, end, value: { ...createMediaItem(source, imageKind), caption: alt.trim() } }
}

const imageKind: MediaKind = { kind: 'image', mimeType: 'image/*' }

function createMediaItem(source: MediaSource, fallback = defaultMediaKind): MediaItem {
  const name = fileNameOf(source)
  const fileName = name === '' ? fallback.kind : name
  return { ...(mediaKindOf(name) ?? fallback), fileName, caption: '', source }
}

/** `undefined` when the text is not the address of a file. */
function parseMediaSource(address: string): MediaSource | undefined {
  if (address.length > maxAddressChars) return undefined
  if (/^https?:\/\//i.test(address)) return URL.canParse(address) ? { kind: 'url', url: address } : undefined
  const path = /^file:\/\//i.test(address) ? fileUrlToPath(address) : address
  return /^~?\/[^/].*(?<!\/)$/.test(path) || /^~?\/[^/]$/.test(path) ? { kind: 'file', path } : undefined
}

function fileNameOf(source: MediaSource): string {
  const name = basename(source.kind === 'file' ? source.path : decodeUri(new URL(source.url).pathname))
  return name
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\\]/gu, '')
    .slice(-200)
    .toWellFormed()
}

function fileUrlToPath(url: string): string {
  try {
    return fileURLToPath(url)
  } catch {
    return ''
  }
}

function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at
  return pattern.exec(text) ?? undefined
}
