/**
 * Sends several files as one album. Telegram puts photos and videos into one album, and only files of the same type
 * otherwise; animations and voice messages are sent alone.
 */
import type { AlbumFile, AlbumResult, GroupableFile, OutboundAlbum } from '#sdk'
import type { UploadedFile } from '../connection/api.ts'
import { asId, asRecord, type JsonRecord } from '../inbound/payload.ts'
import { checkUploadSize, mediaMethodOf, openFile } from './media.ts'
import { captionFields, maxCaptionChars, mediaFields, renderText } from './render.ts'
import { type ChatCalls, rejected } from './text.ts'

/** Limit of Telegram. */
export const maxAlbumFiles = 10

/** Types of `InputMedia`, and the group of each. */
const albumTypes: Readonly<Record<string, { readonly type: string; readonly group: string }>> = {
  sendPhoto: { type: 'photo', group: 'visual' },
  sendVideo: { type: 'video', group: 'visual' },
  sendAudio: { type: 'audio', group: 'audio' },
  sendDocument: { type: 'document', group: 'documents' },
}

export function albumGroupOf(file: GroupableFile): string | undefined {
  return albumTypes[mediaMethodOf(file).method]?.group
}

/** Throws `ApiError`. */
export async function sendAlbum(calls: ChatCalls, album: OutboundAlbum, signal: AbortSignal): Promise<AlbumResult> {
  const types = album.files.map(({ attachment }) => albumTypes[mediaMethodOf(attachment).method])
  // A photo that is too large is a document.
  if (new Set(types.map((type) => type?.group)).size !== 1) return rejected('Telegram mixes no such files in an album')
  const media: JsonRecord[] = []
  const uploads: UploadedFile[] = []
  for (const [index, file] of album.files.entries()) {
    const caption = await renderText(file.caption, maxCaptionChars)
    if (caption.text.length > maxCaptionChars && !caption.isHtml) return rejected('a caption is too long')
    const { reference, upload } = await toUpload(calls, file, `file${index}`)
    media.push({ type: types[index]?.type, media: reference, ...captionFields(caption) })
    if (upload !== undefined) uploads.push(upload)
  }
  const sent = await calls.upload(
    { method: 'sendMediaGroup', payload: { ...mediaFields(album, undefined), media } },
    uploads,
    signal,
  )
  const messageIds = Array.isArray(sent) ? sent.flatMap((message) => asId(asRecord(message)['message_id']) ?? []) : []
  return { success: true, messageIds: messageIds.length === album.files.length ? messageIds : undefined }
}

async function toUpload(
  { maxUploadBytes }: ChatCalls,
  { attachment }: AlbumFile,
  field: string,
): Promise<{ readonly reference: string; readonly upload?: UploadedFile }> {
  if (attachment.source.kind === 'url') return { reference: attachment.source.url }
  checkUploadSize(attachment, maxUploadBytes)
  const blob = await openFile(attachment)
  return { reference: `attach://${field}`, upload: { field, name: attachment.fileName, blob } }
}
