/**
 * Why a file could not be downloaded: a code, and a text for users. The text never contains a URL, because URLs may contain
 * tokens.
 */
import { CodedError } from '../lib/errors.ts'

export type DownloadErrorCode =
  | 'address-failed'
  | 'credentials-rejected'
  | 'http-status'
  | 'invalid-url'
  | 'no-address'
  | 'not-connected'
  | 'not-offered'
  | 'timeout'
  | 'too-large'
  | 'too-many-redirects'
  | 'unreachable'
  | 'url-not-allowed'

export class DownloadError extends CodedError<DownloadErrorCode> {}
