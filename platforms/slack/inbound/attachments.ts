/**
 * Reads the files of a message.
 */
import type { Attachment, MessageType } from '#sdk'
import { isSharedMessage } from './app-content.ts'
import { type JsonRecord, numberAt, recordsAt, textAt } from './payload.ts'

/** The files of a message, and those of messages that it passes on. */
export function parseAttachments(message: JsonRecord): Attachment[] {
  const shared = recordsAt(message, 'attachments').filter(isSharedMessage)
  return [message, ...shared].flatMap((owner) => parseFiles(owner))
}

function parseFiles(owner: JsonRecord): Attachment[] {
  return recordsAt(owner, 'files').flatMap((file) => {
    const ref = fileRefOf(file)
    const problem = unavailableReason(file)
    if (ref === undefined && problem === undefined) return []
    const mimeType = textAt(file, 'mimetype')
    const fileName = textAt(file, 'name') ?? textAt(file, 'title')
    const bytes = numberAt(file, 'size')
    return [
      {
        kind: attachmentKindOf(file, mimeType),
        ...(ref === undefined || problem !== undefined ? {} : { ref }),
        problem,
        mimeType,
        fileName,
        bytes,
      },
    ]
  })
}

/** The type of the first file. */
export function messageTypeOf(files: readonly Attachment[]): MessageType {
  return files[0]?.kind ?? 'text'
}

/** The URL, or the id when Slack omits the URL (files of other workspaces). */
function fileRefOf(file: JsonRecord): string | undefined {
  if (textAt(file, 'file_access') === 'check_file_info') return textAt(file, 'id')
  return textAt(file, 'url_private_download') ?? textAt(file, 'url_private') ?? textAt(file, 'id')
}

function unavailableReason(file: JsonRecord): string | undefined {
  switch (textAt(file, 'mode')) {
    case 'tombstone':
      return 'the file was deleted'
    case 'hidden_by_limit':
      return 'the file is no longer available: the plan of the workspace keeps files for a limited time'
    default:
      return undefined
  }
}

function attachmentKindOf(file: JsonRecord, mimeType = ''): Attachment['kind'] {
  const subtype = textAt(file, 'subtype')
  // A clip recorded in Slack. Audio clips are stored as videos without pictures.
  if (subtype === 'slack_audio') return 'voice'
  if (subtype === 'slack_video' || mimeType.startsWith('video/')) return 'video'
  if (mimeType.startsWith('image/')) return 'photo'
  return mimeType.startsWith('audio/') ? 'audio' : 'document'
}
