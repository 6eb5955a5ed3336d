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
  readonly enabled?: 'auto' | boolean
}

/** Whether a list of toolsets must name the browser, so that a conversation has it: its tools cost 2 kB in each request. */
export function isBrowserOptional({
  enabled,
  executable_path: executablePath,
  cdp_url: cdpUrl,
}: BrowserChoice): boolean {
  return enabled !== true && executablePath === '' && cdpUrl === ''
}

/** Undefined if no browser is configured or installed, or if it is off. Only looks at files; a configured program may be absent. */
export function findBrowser(
  { enabled, executable_path: executablePath, cdp_url: cdpUrl }: BrowserChoice,
  searchPath: string,
): { readonly executablePath: string } | { readonly cdpUrl: string } | undefined {
  if (enabled === false) return undefined
  if (cdpUrl !== '') return { cdpUrl }
  if (executablePath !== '') return { executablePath }
  for (const program of programs) {
    const located = program.startsWith('/') ? findProgram(program, '/') : findProgram(program, searchPath)
    if (located !== undefined) return { executablePath: located }
  }
  return undefined
}
