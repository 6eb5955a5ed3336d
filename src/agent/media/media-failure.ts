/**
 * Why a recording was not transcribed, a text not spoken, or a picture not drawn. The message is for people: it has no secrets and
 * begins in lower case.
 */
export type MediaFailureCode =
  | 'not-configured'
  | 'not-audio'
  | 'empty'
  | 'too-large'
  | 'too-long'
  | 'refused'
  | 'timeout'
  | 'failed'
  | 'bad-result'

export class MediaFailure extends Error {
  readonly code: MediaFailureCode

  constructor(code: MediaFailureCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'MediaFailure'
    this.code = code
  }
}
