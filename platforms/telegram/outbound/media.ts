/**
 * Which method of the Bot API sends a file. What Telegram would not show as a picture, a film or a song goes as a document.
 */
import type { OutboundAttachment } from '#sdk'

export interface MediaMethod {
  readonly method: string
  /** The field that holds the file. */
  readonly field: string
}

export const asDocument: MediaMethod = { method: 'sendDocument', field: 'document' }

/** Telegram makes photos smaller; above this it refuses them. */
const photoBytes = 10 * 1024 * 1024

export function mediaMethodOf({ kind, fileName, mimeType, source }: OutboundAttachment): MediaMethod {
  const type = mimeType.toLowerCase().split(';', 1)[0]?.trim() ?? ''
  const is = (types: RegExp, endings: RegExp) => types.test(type) || endings.test(fileName)
  switch (kind) {
    case 'image':
      if (source.kind === 'file' && source.bytes > photoBytes) return asDocument
      return is(/^image\/(jpeg|png|webp)$/, /\.(jpe?g|png|webp)$/i) ? method('Photo') : animationOr(is)
    case 'animation':
      return animationOr(is)
    case 'video':
      return is(/^video\/(mp4|quicktime)$/, /\.(mp4|mov)$/i) ? method('Video') : asDocument
    case 'voice':
      return is(/^audio\/(ogg|opus)$/, /\.(ogg|oga|opus)$/i) ? method('Voice') : audioOr(is)
    case 'audio':
      return audioOr(is)
    case 'document':
      return asDocument
  }
}

type TypeMatcher = (types: RegExp, endings: RegExp) => boolean

function animationOr(is: TypeMatcher): MediaMethod {
  return is(/^(image\/gif|video\/mp4)$/, /\.(gif|mp4)$/i) ? method('Animation') : asDocument
}

function audioOr(is: TypeMatcher): MediaMethod {
  return is(/^audio\/(mpeg|mp3|mp4|m4a|x-m4a|aac)$/, /\.(mp3|m4a)$/i) ? method('Audio') : asDocument
}

function method(name: string): MediaMethod {
  return { method: `send${name}`, field: name.toLowerCase() }
}
