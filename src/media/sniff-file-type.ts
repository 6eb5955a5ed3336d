/**
 * What a file is, by its first bytes. What it is beats what it is called, except where the bytes tell nothing.
 */
import type { Attachment } from '../message/event.ts'

export interface FileType {
  readonly mimeType: string
  /** Without the dot. */
  readonly extension: string
}

/** As many of the first bytes as `sniff` wants to see. */
export const sniffedBytes = 8_192

/** Every type we name, with the ending its files get. */
const extensionByType: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/heic': 'heic',
  'image/avif': 'avif',
  'image/bmp': 'bmp',
  'image/tiff': 'tiff',
  'image/svg+xml': 'svg',
  'video/mp4': 'mp4',
  'video/quicktime': 'mov',
  'video/webm': 'webm',
  'video/x-matroska': 'mkv',
  'video/3gpp': '3gp',
  'video/ogg': 'ogv',
  'video/x-msvideo': 'avi',
  'audio/mpeg': 'mp3',
  'audio/mp4': 'm4a',
  'audio/ogg': 'ogg',
  'audio/webm': 'webm',
  'audio/wav': 'wav',
  'audio/flac': 'flac',
  'audio/aac': 'aac',
  'audio/amr': 'amr',
  'application/pdf': 'pdf',
  'application/zip': 'zip',
  'application/gzip': 'gz',
  'application/x-7z-compressed': '7z',
  'application/vnd.rar': 'rar',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'application/vnd.oasis.opendocument.text': 'odt',
  'application/vnd.oasis.opendocument.spreadsheet': 'ods',
  'application/vnd.oasis.opendocument.presentation': 'odp',
  'application/epub+zip': 'epub',
  'application/json': 'json',
  'application/xml': 'xml',
  'application/yaml': 'yaml',
  'text/plain': 'txt',
  'text/html': 'html',
  'text/markdown': 'md',
  'text/csv': 'csv',
  'text/tab-separated-values': 'tsv',
}

/** Types whose bytes begin in no certain way: there the sender is believed. */
const unsniffableTypes: readonly string[] = ['audio/mpeg', 'audio/aac']

/** What the platform or the sender says of a file. */
type DeclaredFile = Pick<Attachment, 'kind' | 'mimeType' | 'fileName'>

/** Pure. */
export function sniffFileType(head: Uint8Array, declared: DeclaredFile): FileType {
  const claimed = normalizeMimeType(declared.mimeType)
  const isAudio = claimed.startsWith('audio/') || declared.kind === 'voice' || declared.kind === 'audio'
  const bytes = Buffer.from(head).toString('latin1')
  const sniffed =
    sniffMagicNumber(bytes) ??
    sniffContainer(bytes, claimed, isAudio) ??
    sniffText(head, claimed, declared.fileName ?? '')
  const mimeType = sniffed ?? trustedType(claimed)
  return { mimeType, extension: extensionByType[mimeType] ?? (mimeType.startsWith('text/') ? 'txt' : 'bin') }
}

/** A type that we know by its bytes, and whose bytes these are not, is not what this is. */
function trustedType(claimed: string): string {
  const provable = claimed in extensionByType && !unsniffableTypes.includes(claimed)
  return claimed === '' || provable || claimed.startsWith('text/') ? 'application/octet-stream' : claimed
}

/** Lower case, without parameters; '' for what is no type. */
function normalizeMimeType(mimeType = ''): string {
  const type = mimeType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return /^[a-z0-9][a-z0-9.+-]{0,40}\/[a-z0-9][a-z0-9.+-]{0,100}$/.test(type) ? type : ''
}

/** What a file begins with; `from` is where. */
const magicNumbers: readonly { readonly magic: string; readonly from?: number; readonly type: string }[] = [
  { magic: '\x89PNG\r\n\x1a\n', type: 'image/png' },
  { magic: '\xff\xd8\xff', type: 'image/jpeg' },
  { magic: 'GIF87a', type: 'image/gif' },
  { magic: 'GIF89a', type: 'image/gif' },
  { magic: 'WEBP', from: 8, type: 'image/webp' },
  { magic: 'II*\0', type: 'image/tiff' },
  { magic: 'MM\0*', type: 'image/tiff' },
  { magic: 'WAVE', from: 8, type: 'audio/wav' },
  { magic: 'AVI ', from: 8, type: 'video/x-msvideo' },
  { magic: 'fLaC', type: 'audio/flac' },
  { magic: 'ID3', type: 'audio/mpeg' },
  { magic: '#!AMR', type: 'audio/amr' },
  { magic: '%PDF-', type: 'application/pdf' },
  { magic: '\x1f\x8b\x08', type: 'application/gzip' },
  { magic: "7z\xbc\xaf'\x1c", type: 'application/x-7z-compressed' },
  { magic: 'Rar!\x1a\x07', type: 'application/vnd.rar' },
]

function sniffMagicNumber(head: string): string | undefined {
  const fits = ({ magic, from = 0 }: (typeof magicNumbers)[number]) =>
    head.startsWith(magic, from) && (from === 0 || head.startsWith('RIFF'))
  const known = magicNumbers.find(fits)
  if (known !== undefined) return known.type
  if (/^BM.{4}\0\0\0\0/s.test(head)) return 'image/bmp'
  if (/^\xff[\xf0\xf1\xf8\xf9]/.test(head)) return 'audio/aac'
  return /^\xff[\xe2\xe3\xf2\xf3\xfa\xfb]/.test(head) ? 'audio/mpeg' : undefined
}

/** Files that hold others. Where the container is the same for several types, the sender knows which it is. */
function sniffContainer(head: string, claimed: string, sound: boolean): string | undefined {
  if (head.startsWith('PK\x03\x04')) return sniffZip(head, claimed)
  if (head.startsWith('ftyp', 4)) return sniffMp4(head.slice(8, 12), sound)
  if (head.startsWith('OggS')) return head.includes('theora') ? 'video/ogg' : 'audio/ogg'
  if (!head.startsWith('\x1a\x45\xdf\xa3')) return undefined
  if (!head.slice(0, 64).includes('webm')) return 'video/x-matroska'
  return sound ? 'audio/webm' : 'video/webm'
}

const officeDirectories: readonly (readonly [string, string])[] = [
  ['word/', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xl/', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['ppt/', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
]

/** Many documents are archives; some say so in the first of their files, others by its name. */
function sniffZip(head: string, claimed: string): string {
  const said = /^.{30}mimetype(?<type>application\/[a-z.+-]+)/s.exec(head)?.groups?.['type'] ?? ''
  if (said in extensionByType) return said
  if (head.includes('[Content_Types].xml')) {
    const folder = officeDirectories.find(([name]) => head.includes(name))
    if (folder !== undefined) return folder[1]
  }
  const archive = /^application\/(vnd\.openxmlformats-|vnd\.oasis\.|epub\+zip$|java-archive$|vnd\.android\.)/
  return archive.test(claimed) ? claimed : 'application/zip'
}

function sniffMp4(brand: string, sound: boolean): string {
  if (/^(heic|heix|heim|heis|hevc|hevx|mif1|msf1)$/.test(brand)) return 'image/heic'
  if (/^avi[fs]$/.test(brand)) return 'image/avif'
  if (brand === 'qt  ') return 'video/quicktime'
  if (brand.startsWith('3g')) return 'video/3gpp'
  return sound || /^M4[AB]/.test(brand) ? 'audio/mp4' : 'video/mp4'
}

/** Endings of text files that say more than "text" to whoever opens them. */
const textTypeByExtension: Readonly<Record<string, string>> = {
  md: 'text/markdown',
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  json: 'application/json',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
}

function sniffText(head: Uint8Array, claimed: string, fileName: string): string | undefined {
  const saysText = claimed.startsWith('text/') || Object.values(textTypeByExtension).includes(claimed)
  if (head.length === 0 || head.some(isControlByte) || !(saysText || isUtf8(head))) return undefined
  const start = Buffer.from(head.subarray(0, 1_024))
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
  const markup = sniffMarkup(start)
  if (markup !== undefined) return markup
  if (saysText && claimed !== 'text/plain' && claimed !== 'text/html') return claimed
  return (
    textTypeByExtension[/\.(?<ending>[a-z]{1,5})$/i.exec(fileName)?.groups?.['ending']?.toLowerCase() ?? ''] ??
    'text/plain'
  )
}

/**
 * What the first element says, behind comments and declarations. Step by step and by no pattern: one that may end a comment
 * here or there tries all of them, and a file of a thousand signs would never be done.
 */
function sniffMarkup(start: string): string | undefined {
  let rest = start.trimStart()
  while (rest !== '') {
    if (/^<(?:!doctype html|html)\b/i.test(rest)) return 'text/html'
    if (/^<svg[\s>]/i.test(rest)) return 'image/svg+xml'
    const closing = rest.startsWith('<!--') ? '-->' : /^<(?:\?xml|!doctype svg)/i.test(rest) ? '>' : undefined
    const end = closing === undefined ? -1 : rest.indexOf(closing, '<!--'.length)
    if (closing === undefined || end === -1) return undefined
    rest = rest.slice(end + closing.length).trimStart()
  }
  return undefined
}

/** Bytes that no text holds; tab, line ends, form feed and escape are none of them. */
function isControlByte(byte: number): boolean {
  return byte < 9 || (byte > 13 && byte < 32 && byte !== 27)
}

function isUtf8(head: Uint8Array): boolean {
  try {
    // A character may be cut in two at the end of what we look at.
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true })
    return true
  } catch {
    return false
  }
}

/** What people call it: the sender's word, where the bytes allow it. */
export function attachmentKindOf({ kind, mimeType: said }: Attachment, mimeType: string): Attachment['kind'] {
  const [group] = mimeType.split('/', 1)
  const actual = group === 'image' ? 'photo' : group === 'audio' || group === 'video' ? group : 'document'
  switch (kind) {
    case 'photo':
    case 'video':
      return actual
    case 'audio':
    case 'voice':
      return actual === 'audio' ? kind : actual
    // A sticker may be a picture, a film or an archive of drawing commands.
    case 'sticker':
      return kind
    // Somebody may send a picture as a file on purpose; then the platform knows its type.
    case 'document':
      return said === undefined ? actual : kind
  }
}
