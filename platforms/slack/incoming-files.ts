/**
 * Files that came with a message: what they are, and where their bytes lie.
 */
import type { Attachment, MessageType } from '#sdk'
import { type Fields, listIn, numberIn, textIn } from './payload.ts'

export function readFiles(message: Fields): Attachment[] {
  return listIn(message, 'files').flatMap((file) => {
    const ref = refOf(file)
    const problem = problemOf(file)
    if (ref === undefined && problem === undefined) return []
    const mimeType = textIn(file, 'mimetype')
    const fileName = textIn(file, 'name') ?? textIn(file, 'title')
    const bytes = numberIn(file, 'size')
    return [
      {
        kind: kindOf(file, mimeType),
        ...(ref === undefined || problem !== undefined ? {} : { ref }),
        ...(problem === undefined ? {} : { problem }),
        ...(mimeType === undefined ? {} : { mimeType }),
        ...(fileName === undefined ? {} : { fileName }),
        ...(bytes === undefined ? {} : { bytes }),
      },
    ]
  })
}

/** The type of a message is that of its first file. */
export function typeWith(files: readonly Attachment[]): MessageType {
  return files[0]?.kind ?? 'text'
}

/** The address, or the id where Slack has kept the address back (files of other workspaces). */
function refOf(file: Fields): string | undefined {
  if (textIn(file, 'file_access') === 'check_file_info') return textIn(file, 'id')
  return textIn(file, 'url_private_download') ?? textIn(file, 'url_private') ?? textIn(file, 'id')
}

function problemOf(file: Fields): string | undefined {
  switch (textIn(file, 'mode')) {
    case 'tombstone':
      return 'the file was deleted'
    case 'hidden_by_limit':
      return 'the workspace no longer shows the file: its plan keeps files for a limited time'
    default:
      return undefined
  }
}

function kindOf(file: Fields, mimeType = ''): Attachment['kind'] {
  const subtype = textIn(file, 'subtype')
  // A clip recorded in Slack; sound alone is stored as a video without pictures.
  if (subtype === 'slack_audio') return 'voice'
  if (subtype === 'slack_video' || mimeType.startsWith('video/')) return 'video'
  if (mimeType.startsWith('image/')) return 'photo'
  return mimeType.startsWith('audio/') ? 'audio' : 'document'
}
