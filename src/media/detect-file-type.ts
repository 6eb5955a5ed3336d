/**
 * Detects the type of a file by its first bytes. The declared type counts only where the bytes prove nothing.
 *
 * `file-type` knows the signatures. Text, SVG and HTML have none, and it needs more than the first bytes of some files;
 * these cases are handled here.
 */
import type { Attachment } from '../message/event.ts'
import type { ImageType } from '../message/transcript.ts'

export interface FileType {
  readonly mimeType: string
  /** Without the dot. */
  readonly extension: string
}

/** How many of the first bytes are inspected. More would let a hostile file cost more time. */
export const inspectedBytes = 8_192

/** Pictures that the models of all vendors accept. */
export const pictureExtensions: Readonly<Record<ImageType, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
}

/** Types that are named here, with the extension of stored files. Files of other types are stored as `.bin`. */
const extensionByType: Readonly<Record<string, string>> = {
  ...pictureExtensions,
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

/** Other names of `file-type` for types in the table. */
const aliases: Readonly<Record<string, string>> = {
  'image/apng': 'image/png',
  'image/heif': 'image/heic',
  'image/heif-sequence': 'image/heic',
  'image/heic-sequence': 'image/heic',
  'video/matroska': 'video/x-matroska',
  'video/vnd.avi': 'video/x-msvideo',
  'video/x-m4v': 'video/mp4',
  'video/3gpp2': 'video/3gpp',
  'audio/x-m4a': 'audio/mp4',
  'audio/vnd.wave': 'audio/wav',
  'application/x-rar-compressed': 'application/vnd.rar',
}

/** These files have no reliable signature, so the declared type is trusted. */
const unprovableTypes: readonly string[] = ['audio/mpeg', 'audio/aac']

/** What the platform or the sender declares. */
interface DeclaredFile extends Pick<Attachment, 'kind'> {
  readonly mimeType?: string | undefined
  readonly fileName?: string | undefined
}

/** @param head at most `inspectedBytes` of the file. Never rejects. */
export async function detectFileType(head: Uint8Array, declared: DeclaredFile): Promise<FileType> {
  const claimed = normalizeMimeType(declared.mimeType)
  const isAudio = claimed.startsWith('audio/') || declared.kind === 'voice' || declared.kind === 'audio'
  const detected =
    (await detectSignature(head, claimed)) ?? detectText(head, claimed, declared.fileName ?? '') ?? trustedType(claimed)
  const mimeType = isAudio ? (audioTypeByContainer[detected] ?? detected) : detected
  return { mimeType, extension: extensionByType[mimeType] ?? (mimeType.startsWith('text/') ? 'txt' : 'bin') }
}

/** Containers of sound and video begin alike. Only the sender knows whether there is a picture in them. */
const audioTypeByContainer: Readonly<Record<string, string>> = { 'video/mp4': 'audio/mp4', 'video/webm': 'audio/webm' }

async function detectSignature(head: Uint8Array, claimed: string): Promise<string | undefined> {
  const { fileTypeFromBuffer } = await import('file-type')
  // It throws where a file ends in the middle of a header.
  const detected = await fileTypeFromBuffer(head).catch(() => undefined)
  const mimeType = detected?.mime.split(';', 1)[0] ?? ''
  // SVG and HTML may begin like XML, and other texts are recognised below.
  if (mimeType === '' || mimeType === 'application/xml' || mimeType === 'application/zip') {
    return detectTruncated(Buffer.from(head).toString('latin1'), claimed)
  }
  return aliases[mimeType] ?? mimeType
}

/** Types that `file-type` recognises only by bytes behind the first ones: their headers point to a later part of the file. */
function detectTruncated(head: string, claimed: string): string | undefined {
  if (head.startsWith('PK\x03\x04')) return detectZip(head, claimed)
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('ID3')) return 'audio/mpeg'
  if (head.startsWith('II*\0') || head.startsWith('MM\0*')) return 'image/tiff'
  if (head.startsWith('OggS')) return head.includes('theora') ? 'video/ogg' : 'audio/ogg'
  if (!head.startsWith('\x1a\x45\xdf\xa3')) return undefined
  return head.slice(0, 64).includes('webm') ? 'video/webm' : 'video/x-matroska'
}

const officeDirectories: readonly (readonly [string, string])[] = [
  ['word/', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['xl/', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ['ppt/', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
]

/** Many documents are archives. Some name their type in the first entry, others in the name of an entry. */
function detectZip(head: string, claimed: string): string {
  const named = /^.{30}mimetype(?<type>application\/[a-z.+-]+)/s.exec(head)?.groups?.['type'] ?? ''
  if (named in extensionByType) return named
  if (head.includes('[Content_Types].xml')) {
    const directory = officeDirectories.find(([name]) => head.includes(name))
    if (directory !== undefined) return directory[1]
  }
  const archive = /^application\/(vnd\.openxmlformats-|vnd\.oasis\.|epub\+zip$|java-archive$|vnd\.android\.)/
  return archive.test(claimed) ? claimed : 'application/zip'
}

/** A type that its bytes would prove is not trusted without them. */
function trustedType(claimed: string): string {
  const isProvable = claimed in extensionByType && !unprovableTypes.includes(claimed)
  return claimed === '' || isProvable || claimed.startsWith('text/') ? 'application/octet-stream' : claimed
}

/** Lower case, without parameters; '' for an invalid type. */
function normalizeMimeType(mimeType = ''): string {
  const type = mimeType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return /^[a-z0-9][a-z0-9.+-]{0,40}\/[a-z0-9][a-z0-9.+-]{0,100}$/.test(type) ? type : ''
}

/** Text types that are known by the extension of the file name. */
const textTypeByExtension: Readonly<Record<string, string>> = {
  md: 'text/markdown',
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  json: 'application/json',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
}

function detectText(head: Uint8Array, claimed: string, fileName: string): string | undefined {
  const isDeclaredText = claimed.startsWith('text/') || Object.values(textTypeByExtension).includes(claimed)
  if (head.length === 0 || head.some(isControlByte) || !(isDeclaredText || isUtf8(head))) return undefined
  const start = Buffer.from(head.subarray(0, 1_024))
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
  const markup = detectMarkup(start)
  if (markup !== undefined) return markup
  if (isDeclaredText && claimed !== 'text/plain' && claimed !== 'text/html') return claimed
  return (
    textTypeByExtension[/\.(?<ending>[a-z]{1,5})$/i.exec(fileName)?.groups?.['ending']?.toLowerCase() ?? ''] ??
    'text/plain'
  )
}

/**
 * Reads the first element behind comments and declarations. A loop, not a regular expression: with one that may end a
 * comment in several places, a hostile file of a thousand characters takes exponential time.
 */
function detectMarkup(start: string): string | undefined {
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

/** Bytes that do not occur in text. Tab, line ends, form feed and escape do. */
function isControlByte(byte: number): boolean {
  return byte < 9 || (byte > 13 && byte < 32 && byte !== 27)
}

function isUtf8(head: Uint8Array): boolean {
  try {
    // The last character may be incomplete.
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true })
    return true
  } catch {
    return false
  }
}

/** The kind that the sender declared, where the bytes allow it. */
export function attachmentKindOf({ kind, mimeType: declaredType }: Attachment, mimeType: string): Attachment['kind'] {
  const [group] = mimeType.split('/', 1)
  const actual = group === 'image' ? 'photo' : group === 'audio' || group === 'video' ? group : 'document'
  switch (kind) {
    case 'photo':
    case 'video':
      return actual
    case 'audio':
    case 'voice':
      return actual === 'audio' ? kind : actual
    // A sticker may be a picture, a video or an archive of drawing commands.
    case 'sticker':
      return kind
    // A picture that was sent as a file on purpose has a declared type.
    case 'document':
      return declaredType === undefined ? actual : kind
  }
}
