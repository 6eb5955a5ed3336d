/**
 * Why a recording was not transcribed, a text not spoken, or a picture not drawn. The message is for people: it has no secrets and
 * begins in lower case.
 */
import { CodedError } from '../../lib/errors.ts'

export type MediaProviderErrorCode =
  | 'not-configured'
  | 'not-audio'
  | 'empty'
  | 'too-large'
  | 'too-long'
  | 'refused'
  | 'timeout'
  | 'failed'
  | 'bad-result'

export class MediaProviderError extends CodedError<MediaProviderErrorCode> {}
