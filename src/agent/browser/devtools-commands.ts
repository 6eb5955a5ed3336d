/**
 * The methods of the DevTools protocol that `browser_cdp` may call. They act on one page of the conversation: nothing that reaches
 * the browser as a whole, other conversations, files of this machine, or an address past the proxy.
 */
import type { JsonObject } from '../../lib/json.ts'
import { BrowserError } from './browser-error.ts'

const domains: ReadonlySet<string> = new Set([
  ...['Accessibility', 'Animation', 'Audits', 'CSS', 'DOM', 'DOMDebugger', 'DOMSnapshot', 'DOMStorage', 'Emulation'],
  ...[
    'HeapProfiler',
    'IndexedDB',
    'Input',
    'LayerTree',
    'Log',
    'Network',
    'Overlay',
    'Page',
    'Performance',
    'Profiler',
  ],
  ...['Runtime', 'Security', 'WebAudio'],
])

const refused: ReadonlySet<string> = new Set([
  // Files of this machine.
  ...['DOM.setFileInputFiles', 'DOM.getFileInfo', 'Input.dispatchDragEvent', 'Input.setInterceptDrags'],
  ...['Page.setDownloadBehavior', 'Network.loadNetworkResource', 'Page.getResourceContent'],
  // Playwright needs its own settings of these.
  ...['Page.close', 'Page.disable', 'Page.handleJavaScriptDialog', 'Page.setInterceptFileChooserDialog'],
  ...[
    'Runtime.disable',
    'Network.disable',
    'Network.setRequestInterception',
    'Page.crash',
    'Runtime.terminateExecution',
  ],
  // The user's own cookies, where the browser of `browser.cdp_url` shares them.
  'Network.getAllCookies',
])

/** The addresses that a page may have. */
export function isPageAddress(url: string): boolean {
  return /^(?:https?:|about:blank$)/i.test(url)
}

/** Throws `BrowserError` for a method that pages of conversations are not given. */
export function checkCommand(method: string, params: JsonObject): void {
  const [domain = ''] = method.split('.', 1)
  if (!/^[A-Z]\w*\.\w+$/.test(method) || !domains.has(domain) || refused.has(method))
    throw new BrowserError('command_refused', `The method ${method.slice(0, 100)} is not available.`)
  if ('browserContextId' in params || 'targetId' in params)
    throw new BrowserError('command_refused', 'The parameters may not name a target or a context.')
  if (method === 'Page.navigate') throw new BrowserError('command_refused', 'Use browser_navigate for this.')
}
