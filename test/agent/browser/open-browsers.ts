/**
 * The browser tools over a real Chromium, as the gateway wires them, and pages on this machine.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findBrowser } from '../../../src/agent/browser/find-browser.ts'
import { agentConfig } from '../../../src/agent/config.ts'
import { withFacts } from '../../../src/agent/tools/built-in-tools.ts'
import { bindTool } from '../../../src/agent/tools/registry.ts'
import { type BrowserPort, createBrowserTools } from '../../../src/agent/tools/sets/browser.ts'
import type { ToolContext } from '../../../src/agent/tools/tool.ts'
import { type BrowserDeps, type Browsers, createBrowsers } from '../../../src/flows/tools/browser-access.ts'
import { createHomeLayout, prepareHome } from '../../../src/lib/home.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { testToolContext } from '../in-memory-deps.ts'

export const secret = 'sk-0123456789abcdef'

/** Why tests are skipped; false where a browser is installed. */
export const browserSkip =
  findBrowser({ executable_path: '', cdp_url: '' }, process.env['PATH'] ?? '') === undefined
    ? 'no Chromium is installed'
    : false

type BrowserSettings = ReturnType<BrowserDeps['settings']>['browser']

export interface OpenBrowsers {
  readonly browsers: Browsers
  readonly root: string
  /** The profiles of browsers. */
  readonly directory: string
  /** May be changed at any time. */
  settings: BrowserSettings
  /** The result of a tool, as JSON. */
  call(
    name: string,
    args?: object,
    context?: Partial<ToolContext>,
    port?: Omit<BrowserPort, 'browser'>,
  ): Promise<Record<string, unknown>>
  close(): Promise<void>
}

export function openBrowsers(
  settings: Partial<BrowserSettings> = {},
  deps: Pick<BrowserDeps, 'resolve' | 'isAllowed'> = {},
): OpenBrowsers {
  const root = mkdtempSync(join(tmpdir(), 'hermes-browser-'))
  const home = createHomeLayout(root)
  prepareHome(home)
  const opened: { settings: BrowserSettings } = {
    settings: { ...agentConfig.browser.parse({}), allow_private_urls: true, command_timeout: 20, ...settings },
  }
  const browsers = createBrowsers({
    home,
    settings: () => ({ browser: opened.settings, security: agentConfig.security.parse({}) }),
    environment: () => ({ values: process.env, process: { ...process.env, HERMES_TEST_SECRET: secret } }),
    redact: (text) => text.replaceAll(secret, '[REDACTED]'),
    log: silentLog,
    ...deps,
  })
  const browser = { isOptional: false, open: async () => browsers }
  return {
    browsers,
    root,
    directory: join(home.cache, 'browser'),
    get settings() {
      return opened.settings
    },
    set settings(changed) {
      opened.settings = changed
    },
    async call(name, args = {}, context = {}, port = {}) {
      const tool = createBrowserTools({ browser, ...port }).find((other) => other.name === name)
      const parsed = tool && bindTool(withFacts(tool)).parse({ ...args })
      if (parsed?.ok !== true) throw new Error(parsed?.error ?? `there is no tool ${name}`)
      const base = testToolContext({ id: 'call', name, arguments: '' }, new AbortController().signal)
      const own = { sessionId: 'session', limits: { maxResultChars: 50_000 } }
      return JSON.parse(await parsed.call.run({ ...base, ...own, ...context }))
    },
    async close() {
      await browsers.close()
      rmSync(root, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

export interface Site {
  readonly port: number
  readonly origin: string
  readonly requests: string[]
  readonly server: Server
  close(): void
}

/** @param pages the HTML of a path, or a function that answers */
export async function openSite(
  pages: Readonly<Record<string, string | ((response: ServerResponse, request: IncomingMessage) => void)>>,
  host = '127.0.0.1',
): Promise<Site> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    const [path = '/'] = (request.url ?? '/').split('?')
    if (path !== '/favicon.ico') requests.push(`${request.method} ${request.url}`)
    const page = pages[path]
    if (typeof page === 'function') page(response, request)
    else {
      response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' })
      response.end(page ?? 'nothing here')
    }
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the site has no port')
  return {
    port: address.port,
    origin: `http://${host}:${address.port}`,
    requests,
    server,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
