/**
 * What the browser tools ask of the browser. All methods reject with `BrowserError`, or with the reason of the signal.
 */
import type { ConfigOf } from '../../config/section.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { browserConfig } from './config.ts'

/** The browser of the gateway. Each conversation and each sub-agent has pages of its own in it. */
export interface BrowserAccess {
  /** Opens nothing yet. */
  pagesOf(sessionId: string): ConversationPages
  /** Throws `BrowserError` for a text that contains a secret of the gateway: a page could have asked for it. */
  checkText(text: string): void
  /**
   * Stores a screenshot as a picture and resolves with its path. Rejects with `BrowserError` if it is too large.
   */
  storePicture(bytes: Uint8Array): Promise<{ readonly path: string }>
}

/** What the pages of all conversations may do. */
export interface BrowserRules {
  readonly settings: () => ConfigOf<typeof browserConfig>['browser']
  /** Rejects with `BrowserError` for an address that pages may not have. */
  checkUrl(url: string, signal: AbortSignal): Promise<void>
  /** Whether the proxy has refused this host since it was started. */
  wasRefused(url: string): boolean
}

export interface ConversationPages {
  /** Opens a page, and the browser if it is not open. */
  navigate(url: string, signal: AbortSignal): Promise<PageState & PageSnapshot>
  /** `offset`: characters of the snapshot that are left out at its beginning. */
  snapshot(options: { readonly full: boolean; readonly offset: number }, signal: AbortSignal): Promise<PageSnapshot>
  /** `ref`: of the last snapshot, such as `@e5`. */
  click(ref: string, signal: AbortSignal): Promise<PageState>
  /** Replaces the text of a field, or chooses an option. */
  type(ref: string, text: string, signal: AbortSignal): Promise<PageState>
  scroll(direction: 'up' | 'down', signal: AbortSignal): Promise<PageState>
  /** A key of Playwright: `Enter`, `Control+a`. */
  press(key: string, signal: AbortSignal): Promise<PageState>
  back(signal: AbortSignal): Promise<PageState>
  images(signal: AbortSignal): Promise<readonly PageImage[]>
  /** The visible part of the page, as a PNG or, if that is large, a JPEG. */
  screenshot(signal: AbortSignal): Promise<Uint8Array>
  /** What the page has written and thrown since it was opened, the newest at the end. */
  console(clear: boolean): PageConsole
  /** Runs an expression in the page. Resolves with what it returns, as far as JSON can express it. */
  evaluate(expression: string, signal: AbortSignal): Promise<unknown>
  /** Runs a method of the DevTools protocol on a page of this conversation. */
  sendCommand(command: DevToolsCommand, signal: AbortSignal): Promise<unknown>
}

export interface DevToolsCommand {
  /** `Page.printToPDF`. */
  readonly method: string
  readonly params: JsonObject
  /** A page of `Target.getTargets`; '' for the current one. */
  readonly targetId: string
  readonly timeoutMs: number
}

/** Where the conversation is after a call. */
export interface PageState {
  readonly url: string
  readonly title: string
  /** Open tabs, if there are several. The newest one is the current one. */
  readonly tabs?: number
  /** Dialogs that the page has opened during the call. */
  readonly dialogs?: readonly { readonly type: string; readonly message: string }[]
  readonly note?: string | undefined
}

export interface PageSnapshot {
  readonly snapshot: string
  /** Elements with a ref. */
  readonly elements: number
  /** How to get the rest of a long snapshot. */
  readonly more?: string
}

export interface PageImage {
  readonly src: string
  readonly alt: string
  readonly width: number
  readonly height: number
}

export interface PageConsole {
  readonly messages: readonly { readonly type: string; readonly text: string }[]
  readonly errors: readonly string[]
}
