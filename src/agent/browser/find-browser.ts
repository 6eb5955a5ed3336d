/**
 * Which browser the tools use.
 */
import { findProgram } from '../../lib/find-program.ts'

/** Programs that Playwright can drive, the most common ones first. */
const programs = [
  ...['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'],
  ...['microsoft-edge', 'brave-browser'],
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

export interface BrowserChoice {
  readonly executable_path: string
  readonly cdp_url: string
}

/** Undefined if no browser is configured or installed. Only looks at files; a configured program may be absent. */
export function findBrowser(
  { executable_path: executablePath, cdp_url: cdpUrl }: BrowserChoice,
  searchPath: string,
): { readonly executablePath: string } | { readonly cdpUrl: string } | undefined {
  if (cdpUrl !== '') return { cdpUrl }
  if (executablePath !== '') return { executablePath }
  for (const program of programs) {
    const found = program.startsWith('/') ? findProgram(program, '/') : findProgram(program, searchPath)
    if (found !== undefined) return { executablePath: found }
  }
  return undefined
}
