/**
 * The errors of the browser tools: a stable code for programs and a sentence for the model.
 */

import { stripVTControlCharacters } from 'node:util'
import { CodedError } from '../../lib/errors.ts'

export type BrowserErrorCode =
  | 'no_page'
  | 'url_not_allowed'
  | 'unreachable'
  | 'timeout'
  | 'page_crashed'
  | 'page_closed'
  | 'page_hangs'
  | 'browser_gone'
  | 'browser_not_started'
  | 'download'
  | 'unknown_element'
  | 'not_possible'
  | 'too_many_contexts'
  | 'script_failed'
  | 'command_refused'
  | 'command_failed'

export class BrowserError extends CodedError<BrowserErrorCode> {}

const reasons: readonly (readonly [RegExp, BrowserErrorCode, string])[] = [
  [/crashed/i, 'page_crashed', 'The page crashed. Call browser_navigate to open it again.'],
  [
    /(?:page|context|browser)[^.]* (?:has been )?closed|Target closed|Connection closed/i,
    'browser_gone',
    'The browser or the page was closed. Call browser_navigate to start again.',
  ],
  [/Download is starting/i, 'download', 'The address is a file to download, and downloads are off. Use web_extract.'],
  [/ERR_ABORTED/, 'download', 'The page was not opened: it is a download, has no content, or went elsewhere.'],
  [/ERR_UNSAFE_PORT/, 'url_not_allowed', 'Browsers open no pages on this port.'],
  [/ERR_CERT|ERR_SSL/, 'unreachable', 'The certificate of the server is not valid.'],
  [/net::ERR_/, 'unreachable', 'The server cannot be reached.'],
  [/Timeout \d+ms exceeded|TimeoutError/i, 'timeout', 'It took too long (browser.command_timeout).'],
]

/** Describes an error of Playwright. `otherwise` is the code of an error that is none of the known ones. */
export function toBrowserError(error: unknown, otherwise: BrowserErrorCode): BrowserError {
  if (error instanceof BrowserError) return error
  const message = firstLine(error)
  const known = reasons.find(([pattern]) => pattern.test(message))
  if (known === undefined) return new BrowserError(otherwise, message, { cause: error })
  const [, code, text] = known
  const [network = ''] = /net::\w+/.exec(message) ?? []
  return new BrowserError(code, network === '' ? text : `${text} (${network})`, { cause: error })
}

/** Playwright adds a log of many lines, with colours. */
function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return stripVTControlCharacters(text)
    .split('\n', 1)
    .join('')
    .replace(/^\w+\.\w+: /, '')
    .slice(0, 500)
}
