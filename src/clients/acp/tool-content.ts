/**
 * Tool calls as an editor shows them: their kind, the places that they touch, changes as diffs, commands as terminals, and the list
 * of steps as a plan.
 */
import { resolve } from 'node:path'
import type { PlanEntry, ToolCallContent, ToolCallLocation, ToolKind } from '@agentclientprotocol/sdk'
import type { ToolView, ToolViewPart } from '../../message/tool-view.ts'

const kinds: Readonly<Record<string, ToolKind>> = {
  read_file: 'read',
  vision_analyze: 'read',
  skill_view: 'read',
  skills_list: 'read',
  write_file: 'edit',
  patch: 'edit',
  skill_manage: 'edit',
  search_files: 'search',
  session_search: 'search',
  terminal: 'execute',
  process: 'execute',
  execute_code: 'execute',
  web_search: 'fetch',
  web_extract: 'fetch',
  delegate_task: 'think',
  todo: 'think',
  memory: 'think',
}

export function kindOf(tool: string): ToolKind {
  if (Object.hasOwn(kinds, tool)) return kinds[tool] ?? 'other'
  return tool.startsWith('browser_') ? 'fetch' : 'other'
}

export function titleOf(tool: string, label: string): string {
  return label === '' ? tool : `${tool}: ${label}`
}

/** The file that a call works on, as far as its label tells. */
export function locationsOfLabel(tool: string, label: string, cwd: string): ToolCallLocation[] {
  const isFile = /^(?:read_file|write_file|patch)$/.test(tool)
  const path = label.replace(/ \(.*\)$/, '').replace(/:\d+(?:-\d+)?$/, '')
  return isFile && path !== '' && !/\s{2}|,/.test(path) ? [{ path: resolve(cwd, path) }] : []
}

export interface ShownCall {
  readonly content: ToolCallContent[]
  readonly locations: ToolCallLocation[]
  /** The steps of a `todo` call. */
  readonly plan?: PlanEntry[] | undefined
  /** The command and its end, for an editor that shows terminals of the agent. */
  readonly terminal?: { readonly output: string; readonly exitCode: number | null } | undefined
}

export function showCall({ parts }: Pick<ToolView, 'parts'>, cwd: string): ShownCall {
  const content: ToolCallContent[] = []
  const locations: ToolCallLocation[] = []
  let plan: PlanEntry[] | undefined
  let terminal: ShownCall['terminal']
  const at = (path: string, line?: number) => {
    locations.push({ path: resolve(cwd, path), ...(line === undefined ? {} : { line }) })
  }
  for (const part of parts) {
    switch (part.kind) {
      case 'diff':
        at(part.path, firstChangedLine(part.text))
        content.push(...diffContent(part, cwd))
        break
      case 'lines':
        at(part.path, part.first)
        content.push(textContent(fenced(part.text)))
        break
      case 'matches':
        at(part.path, part.lines.find(({ isContext }) => isContext !== true)?.line)
        content.push(
          textContent(fenced(part.lines.map(({ line, text }) => `${part.path}:${line}: ${text}`).join('\n'))),
        )
        break
      case 'command':
        terminal = { output: commandOutput(part), exitCode: part.exitCode ?? null }
        content.push(textContent(fenced(commandOutput(part))))
        break
      case 'todos':
        plan = part.items.map(({ content: step, status }) => ({
          content: status === 'cancelled' ? `${step} (cancelled)` : step,
          priority: 'medium',
          status: status === 'cancelled' ? 'completed' : status,
        }))
        break
      default: {
        const text = textOf(part)
        if (text !== '') content.push(textContent(text))
      }
    }
  }
  return {
    content,
    locations,
    plan,
    terminal,
  }
}

export function textContent(text: string): ToolCallContent {
  return { type: 'content', content: { type: 'text', text } }
}

type DiffPart = Extract<ToolViewPart, { kind: 'diff' }>

/** One diff for each hunk, with the old and the new lines of the hunk. A new file has no old text. */
export function diffContent({ path, text }: Pick<DiffPart, 'path' | 'text'>, cwd: string): ToolCallContent[] {
  const hunks = text.split(/^@@.*$\n?/m).filter((hunk) => hunk !== '')
  const isNew = /^@@ -0,0 /.test(text)
  // What is left out is said in brackets.
  const notes = [...text.matchAll(/^\[.*\]$/gm)].map(([note]) => textContent(note))
  const diffs = hunks.map((hunk): ToolCallContent => {
    const lines = hunk.replace(/\n$/, '').split('\n')
    const side = (sign: '-' | '+') =>
      lines
        .filter((line) => line.startsWith(sign) || line.startsWith(' ') || line === '')
        .map((line) => line.slice(1))
        .join('\n')
    return { type: 'diff', path: resolve(cwd, path), oldText: isNew ? null : side('-'), newText: side('+') }
  })
  return [...diffs, ...notes]
}

function firstChangedLine(text: string): number | undefined {
  const start = /^@@ -\d+(?:,\d+)? \+(\d+)/m.exec(text)?.[1]
  return start === undefined ? undefined : Math.max(1, Number(start))
}

function commandOutput({ command, output, state }: Extract<ToolViewPart, { kind: 'command' }>): string {
  return [`$ ${command}`, output.trimEnd(), state === '' ? '' : `(${state})`].filter((line) => line !== '').join('\n')
}

function textOf(part: Exclude<ToolViewPart, { kind: 'diff' | 'lines' | 'matches' | 'command' | 'todos' }>): string {
  switch (part.kind) {
    case 'files':
      return part.files.map((file) => `- ${file}`).join('\n')
    case 'links':
      return part.links
        .map(({ title, url, text }) => `- ${[title, url, text].filter((part) => part !== '').join(' - ')}`)
        .join('\n')
    case 'agents':
      return part.agents
        .map(({ goal, status, text }) => `- ${goal} (${status})${text === '' ? '' : `\n\n${text}`}`)
        .join('\n')
    case 'text':
      return part.markdown ? part.text : fenced(part.text)
    case 'fields':
      return part.fields.map(({ name, value }) => `- ${name}: ${value}`).join('\n')
    case 'error':
      return fenced(part.text)
    case 'pictures':
      return part.pictures.map(({ name }) => `- ${name}`).join('\n')
  }
}

function fenced(text: string): string {
  if (text === '') return ''
  const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/g), ([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}
