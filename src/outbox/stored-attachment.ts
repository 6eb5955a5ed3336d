/**
 * The stored form of an attachment, and the text that replaces it where it cannot be sent.
 */
import { z } from 'zod'
import type { Authority } from '../message/authority.ts'
import type { OutboundAttachment } from '../message/outbound.ts'
import type { MediaItem } from './media-tags.ts'

const attachmentSchema = z.object({
  kind: z.enum(['image', 'animation', 'video', 'audio', 'voice', 'document']),
  fileName: z.string(),
  mimeType: z.string(),
  caption: z.string(),
  /** The authority of the turn that named the file. Absent: rows of older versions, and files of plugins. */
  authority: z
    .object({
      role: z.enum(['owner', 'member', 'guest']),
      platform: z.string(),
      chatType: z.enum(['dm', 'group', 'channel', 'thread', 'forum']),
      userId: z.string().optional(),
      account: z.string().optional(),
      chatId: z.string().optional(),
      parentChatId: z.string().optional(),
    })
    .optional(),
  source: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('url'), url: z.string() }),
    z.object({ kind: z.literal('file'), path: z.string() }),
  ]),
})

export type StoredAttachment = z.output<typeof attachmentSchema>

/** The column `attachment` of a row. */
export function serializeAttachment(
  { kind, fileName, mimeType, caption, source }: MediaItem,
  authority?: Authority,
): string {
  const stored: StoredAttachment = { kind, fileName, mimeType, caption, source, authority }
  return JSON.stringify(stored)
}

/** Throws when the column is damaged. */
export function parseAttachment(json: string): StoredAttachment {
  return attachmentSchema.parse(JSON.parse(json))
}

const labels: Readonly<Record<OutboundAttachment['kind'], string>> = {
  image: '🖼️ Image',
  animation: '🖼️ Image',
  video: '🎬 Video',
  audio: '🔊 Audio',
  voice: '🔊 Audio',
  document: '📎 File',
}

/** The column `text` of the row: shown by platforms that take no files, and in the history (contract §3.2). */
export function formatAttachmentLine({ kind, fileName, caption, source }: MediaItem): string {
  const line = `${labels[kind]}: ${source.kind === 'url' ? source.url : fileName}`
  return caption === '' ? line : `${caption}\n${line}`
}

/** The line that replaces a file that could not be sent. `reason`: a few words. */
export function formatUnsentLine({ fileName, caption }: StoredAttachment, reason: string): string {
  const line = `📎 File not sent: ${fileName} (${reason})`
  return caption === '' ? line : `${caption}\n${line}`
}
