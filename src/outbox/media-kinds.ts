/**
 * The kind and the MIME type of a file, by the extension of its name.
 */
import type { OutboundAttachment } from '../message/outbound.ts'

type AttachmentKind = OutboundAttachment['kind']

export interface MediaKind {
  readonly kind: AttachmentKind
  readonly mimeType: string
  /** Whether it may be sent as a voice message. */
  readonly voice?: boolean
}

/** Files that platforms show or play. Image types that many platforms refuse are sent as documents. */
const mediaKinds: Readonly<Record<string, MediaKind>> = {
  png: { kind: 'image', mimeType: 'image/png' },
  jpg: { kind: 'image', mimeType: 'image/jpeg' },
  jpeg: { kind: 'image', mimeType: 'image/jpeg' },
  webp: { kind: 'image', mimeType: 'image/webp' },
  bmp: { kind: 'image', mimeType: 'image/bmp' },
  gif: { kind: 'animation', mimeType: 'image/gif' },
  svg: { kind: 'document', mimeType: 'image/svg+xml' },
  heic: { kind: 'document', mimeType: 'image/heic' },
  avif: { kind: 'document', mimeType: 'image/avif' },
  tif: { kind: 'document', mimeType: 'image/tiff' },
  tiff: { kind: 'document', mimeType: 'image/tiff' },
  mp4: { kind: 'video', mimeType: 'video/mp4' },
  m4v: { kind: 'video', mimeType: 'video/mp4' },
  mov: { kind: 'video', mimeType: 'video/quicktime' },
  webm: { kind: 'video', mimeType: 'video/webm' },
  mkv: { kind: 'video', mimeType: 'video/x-matroska' },
  avi: { kind: 'video', mimeType: 'video/x-msvideo' },
  mp3: { kind: 'audio', mimeType: 'audio/mpeg', voice: true },
  m4a: { kind: 'audio', mimeType: 'audio/mp4', voice: true },
  ogg: { kind: 'audio', mimeType: 'audio/ogg', voice: true },
  oga: { kind: 'audio', mimeType: 'audio/ogg', voice: true },
  opus: { kind: 'audio', mimeType: 'audio/ogg', voice: true },
  wav: { kind: 'audio', mimeType: 'audio/wav' },
  flac: { kind: 'audio', mimeType: 'audio/flac' },
  aac: { kind: 'audio', mimeType: 'audio/aac' },
}

/** Documents. A line that only contains their path is text, not a request to send them. */
const documentTypes: Readonly<Record<string, string>> = {
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json',
  xml: 'application/xml',
  zip: 'application/zip',
  gz: 'application/gzip',
  tar: 'application/x-tar',
  doc: 'application/msword',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xls: 'application/vnd.ms-excel',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  epub: 'application/epub+zip',
}

export const defaultMediaKind: MediaKind = { kind: 'document', mimeType: 'application/octet-stream' }

/** `undefined` for an unknown extension. */
export function mediaKindOf(fileName: string): MediaKind | undefined {
  const extension = extensionOf(fileName)
  if (Object.hasOwn(mediaKinds, extension)) return mediaKinds[extension]
  return Object.hasOwn(documentTypes, extension)
    ? { kind: 'document', mimeType: documentTypes[extension] ?? defaultMediaKind.mimeType }
    : undefined
}

/** Whether a path alone on its line is a request to send the file. */
export function isMediaFileName(fileName: string): boolean {
  return Object.hasOwn(mediaKinds, extensionOf(fileName))
}

function extensionOf(fileName: string): string {
  const dot = fileName.lastIndexOf('.')
  return dot === -1 ? '' : fileName.slice(dot + 1).toLowerCase()
}
