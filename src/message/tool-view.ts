/**
 * A tool call as people read it: one line for a list, and the parts that a page shows when the call is opened.
 */

/** One call of a turn, as a list shows it. */
export interface ToolCallSummary {
  readonly turnId: string
  readonly callId: string
  readonly tool: string
  /** `interrupted`: it did not end, or ended without a result. */
  readonly state: 'done' | 'failed' | 'interrupted'
  /** What it worked on. One line without secrets, '' for none. */
  readonly label: string
  /** What came of it. One line without secrets, '' for none. */
  readonly summary: string
  /** ms since 1970. */
  readonly startedAt: number
  readonly endedAt: number
}

/** What a call did, for a page. No text has secrets or hidden characters; all of them are plain text unless stated otherwise. */
export interface ToolView {
  readonly parts: readonly ToolViewPart[]
  /** Texts or lists were cut. A view of the whole has more. */
  readonly isCut: boolean
}

export type ToolViewPart =
  /** A command, or a script, and what it printed. */
  | {
      readonly kind: 'command'
      /** '' if it is not known. */
      readonly command: string
      readonly language: 'shell' | 'python'
      readonly output: string
      readonly exitCode?: number
      /** `killed after 30 s`, `running`; '' for none. */
      readonly state: string
    }
  /** Lines of a file. */
  | { readonly kind: 'lines'; readonly path: string; readonly first: number; readonly text: string }
  /** Changes of one file. `text`: hunks of a unified diff, without the names of the files. */
  | {
      readonly kind: 'diff'
      readonly path: string
      readonly added: number
      readonly removed: number
      readonly text: string
    }
  /** Lines of one file that a search has found. `marks`: texts to mark in them, in any case. */
  | {
      readonly kind: 'matches'
      readonly path: string
      readonly lines: readonly { readonly line: number; readonly text: string; readonly isContext?: true }[]
      readonly marks: readonly string[]
    }
  | { readonly kind: 'files'; readonly files: readonly string[] }
  /** `url` is one of http or https; '' for none. */
  | { readonly kind: 'links'; readonly links: readonly { title: string; url: string; text: string }[] }
  | {
      readonly kind: 'todos'
      readonly items: readonly { content: string; status: 'pending' | 'in_progress' | 'completed' | 'cancelled' }[]
    }
  /** `name`: of a stored file, as in `PlatformFiles.open`. The sizes are in pixels, and 0 if they are not known. */
  | { readonly kind: 'pictures'; readonly pictures: readonly { name: string; width: number; height: number }[] }
  | {
      readonly kind: 'agents'
      readonly agents: readonly { goal: string; status: string; text: string }[]
    }
  /** `markdown`: the text is Markdown. `title` may be ''. */
  | { readonly kind: 'text'; readonly title: string; readonly text: string; readonly markdown: boolean }
  | { readonly kind: 'fields'; readonly fields: readonly { name: string; value: string }[] }
  | { readonly kind: 'error'; readonly text: string; readonly code: string }
