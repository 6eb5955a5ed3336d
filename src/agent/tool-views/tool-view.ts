/**
 * What a tool call did, in parts that a page shows. A result is recognised by its shape, so that results of plugins and of MCP
 * servers look like those of the built-in tools.
 */
import { asArray, asRecord, asString, isRecord, type JsonObject, parseJson } from '../../lib/json.ts'
import type { ToolView, ToolViewPart } from '../../message/tool-view.ts'
import type { ImagePart } from '../../message/transcript.ts'
import { diffParts, patchParts, replacementPart } from './diff-parts.ts'
import { toOutline, toScalar } from './outline.ts'
import { filesPart, matchParts } from './search-parts.ts'
import { createViewBudget, shortView, type ViewBudget, wholeView } from './view-budget.ts'

export interface ViewedCall {
  readonly tool: string
  /** JSON text of the model; it may be malformed. */
  readonly arguments: string
  /** What the model received; undefined before the call has ended. */
  readonly result: string | undefined
  readonly images: readonly ImagePart[]
  /** The whole text of a result that was too long for the model (`full_result`), when a view of the whole needs it. */
  readonly fullText?: string | undefined
}

export interface ViewOptions {
  /** Everything, and not only what fits on a screen. */
  readonly whole: boolean
  /** Takes the secrets out of a text. */
  withhold(text: string): string
}

/** Never throws. */
export function createToolView(call: ViewedCall, { whole, withhold }: ViewOptions): ToolView {
  const budget = createViewBudget(whole ? wholeView : shortView, withhold)
  const args = asRecord(parseJson(call.arguments))
  const { result, isShortened } = completeResult(call)
  const shown = [...resultParts({ ...call, result }, args, budget), ...pictureParts(call.images, result)]
  const parts = shown.length > 0 ? shown : fieldParts(args, budget)
  return { parts, isCut: budget.isCut() || isShortened }
}

/** The path of the file with the whole result (`full_result`); undefined for a result that is not shortened. */
export function fullResultPath(result: string): string | undefined {
  if (!result.includes('"full_result"')) return undefined
  const path = asRecord(parseJson(result))['full_result']
  return typeof path === 'string' ? path : undefined
}

/** Puts the whole text in the place of the shortened one. Without it the result says itself what is left out. */
function completeResult({ result, fullText }: ViewedCall): {
  readonly result: string | undefined
  isShortened: boolean
} {
  if (result === undefined || fullResultPath(result) === undefined) return { result, isShortened: false }
  const { full_result: _path, ...value } = asRecord(parseJson(result))
  if (fullText === undefined) return { result: JSON.stringify(value), isShortened: true }
  const names = Object.keys(value)
  if (names.length === 1 && names[0] === 'result' && isRecord(parseJson(fullText)))
    return { result: fullText, isShortened: false }
  const length = (name: string) => asString(value[name]).length
  const longest = names.reduce((a, b) => (length(b) > length(a) ? b : a), names[0] ?? 'result')
  return { result: JSON.stringify({ ...value, [longest]: fullText }), isShortened: false }
}

function resultParts({ tool, result }: ViewedCall, args: JsonObject, budget: ViewBudget): readonly ToolViewPart[] {
  const value = result === undefined ? {} : parseJson(result)
  if (result === undefined) return inputParts(tool, args, budget)
  if (isRecord(value)) {
    // A script that failed has `error` besides its output.
    const failed = result.startsWith('{"error"') ? errorParts(value, budget) : []
    return failed.length > 0
      ? withInput(inputParts(tool, args, budget), failed)
      : recordParts(tool, args, value, budget)
  }
  if (Array.isArray(value)) return [listPart(value, budget)]
  return [...inputParts(tool, args, budget), textPart(result, budget)]
}

/** What the call was given, where that tells more than the label. */
function inputParts(tool: string, args: JsonObject, budget: ViewBudget): readonly ToolViewPart[] {
  const { command, code } = args
  if (typeof command === 'string') return [commandPart(command, 'shell', {}, budget)]
  if (tool === 'execute_code' && typeof code === 'string') return [commandPart(code, 'python', {}, budget)]
  return changeParts(args, {}, budget)
}

/** A command comes before its error; a change that was not made comes after it. */
function withInput(input: readonly ToolViewPart[], failed: readonly ToolViewPart[]): readonly ToolViewPart[] {
  return input[0]?.kind === 'command' ? [...input, ...failed] : [...failed, ...input]
}

function errorParts({ error, code, ...more }: JsonObject, budget: ViewBudget): readonly ToolViewPart[] {
  const text = typeof error === 'string' ? error : toOutline(error)
  const part = { kind: 'error', text: budget.head(text), code: budget.line(asString(code)) } as const
  return [part, ...fieldParts(more, budget)]
}

/** The fields of a result that a part shows. The others become a list of fields. */
interface Recognised {
  readonly parts: readonly ToolViewPart[]
  readonly fields: readonly string[]
}

type Recogniser = (call: {
  readonly tool: string
  readonly args: JsonObject
  readonly value: JsonObject
  readonly budget: ViewBudget
}) => Recognised | undefined

const printedFields = [
  ...['output', 'stdout', 'stderr', 'error', 'exit_code', 'timed_out', 'status', 'aborted', 'id', 'session_id', 'pid'],
  ...['tool_calls_made', 'duration_seconds'],
]

/** The first that knows the shape counts. */
const recognisers: readonly Recogniser[] = [
  ({ args, value, budget }) => {
    const parts = changeParts(args, value, budget)
    const fields = [
      'diff',
      'path',
      'replaced',
      'lines',
      'bytes',
      'created',
      'success',
      'bytes_written',
      'files_modified',
      'files_created',
      'files_deleted',
    ]
    return parts.length === 0 ? undefined : { parts, fields }
  },
  ({ tool, args, value, budget }) => {
    const isScript = tool === 'execute_code'
    const { output, exit_code: exit, stdout } = value
    const printed = typeof output === 'string' ? output : stdout
    if (typeof printed !== 'string' || (typeof exit !== 'number' && !isScript && value['status'] === undefined))
      return undefined
    const input = isScript ? asString(args['code']) : asString(args['command'])
    const part = commandPart(input, isScript ? 'python' : 'shell', { ...value, output: printed }, budget)
    return {
      parts: [part],
      fields: printedFields,
    }
  },
  ({ value: { todos }, budget }) =>
    Array.isArray(todos) ? { parts: [todosPart(todos, budget)], fields: ['todos', 'summary'] } : undefined,
  ({ value: { matches }, args, budget }) =>
    typeof matches === 'string' || (Array.isArray(matches) && matches.every(isRecord) && matches.length > 0)
      ? { parts: matchParts(matches, asString(args['pattern'] ?? args['query']), budget), fields: ['matches', 'count'] }
      : undefined,
  ({ value: { files }, budget }) =>
    typeof files === 'string' || (Array.isArray(files) && files.every((file) => typeof file === 'string'))
      ? { parts: [filesPart(files, budget)], fields: ['files', 'count'] }
      : undefined,
  ({ value, budget }) => {
    const links = asArray(asRecord(value['data'])['web'] ?? value['results'])
    const isLinks = links.length > 0 && links.every((link) => typeof asRecord(link)['url'] === 'string')
    return isLinks ? { parts: linkParts(links, budget), fields: ['data', 'results', 'count'] } : undefined
  },
  ({ value: { images }, budget }) => {
    const pictures = asArray(images).map(asRecord)
    const isPictures = pictures.length > 0 && pictures.every(({ src }) => typeof src === 'string')
    const links = pictures.map(({ src, alt, width, height }) => {
      const size = typeof width === 'number' && typeof height === 'number' ? `${width} x ${height}` : ''
      return { url: src, title: alt, description: size }
    })
    return isPictures ? { parts: linkParts(links, budget), fields: ['images', 'count'] } : undefined
  },
  ({ value: { results }, args, budget }) => {
    const reports = asArray(results)
    const isReports = reports.length > 0 && reports.every((report) => typeof asRecord(report)['status'] === 'string')
    return isReports ? { parts: [agentsPart(reports, args, budget)], fields: ['results'] } : undefined
  },
  ({ value: { content, total_lines: total }, args, budget }) => {
    const isNumbered = typeof content === 'string' && typeof total === 'number'
    return isNumbered
      ? {
          parts: [linesPart(content, asString(args['path']), budget)],
          fields: ['content', 'total_lines', 'next_offset'],
        }
      : undefined
  },
  ({ tool, value, budget }) => {
    const field = ['result', 'content', 'text', 'analysis', 'output', 'response', 'snapshot'].find(
      (name) => typeof value[name] === 'string' && value[name] !== '',
    )
    if (field === undefined) return undefined
    const text = asString(value[field])
    const data = value['structuredContent'] === undefined ? [] : [outlinePart('', value['structuredContent'], budget)]
    const part = textPart(text, budget, field === 'analysis' || tool === 'skill_view')
    return { parts: [part, ...data], fields: [field, 'structuredContent', '_meta'] }
  },
]

/** Remarks for the model. */
const remarks = ['note', 'note_on_page', 'hint', 'origin']

function recordParts(tool: string, args: JsonObject, value: JsonObject, budget: ViewBudget): readonly ToolViewPart[] {
  for (const recognise of recognisers) {
    const view = recognise({ tool, args, value, budget })
    if (view === undefined) continue
    const rest = fieldParts(withoutRemarks(value, view.fields), budget)
    // A text may be long, and the facts about it stand above it.
    return view.parts[0]?.kind === 'text' ? [...rest, ...view.parts] : [...view.parts, ...rest]
  }
  return fieldParts(withoutRemarks(value, []), budget)
}

/** `success` says no more than the state of the call. */
function withoutRemarks(value: JsonObject, shown: readonly string[]): JsonObject {
  const isDull = (name: string, field: unknown) => remarks.includes(name) || (name === 'success' && field === true)
  const rest = Object.entries(value).filter(([name, field]) => !shown.includes(name) && !isDull(name, field))
  return Object.fromEntries(rest)
}

/** A diff of the result, or what the arguments say about the change of a file. */
function changeParts(args: JsonObject, { diff }: JsonObject, budget: ViewBudget): readonly ToolViewPart[] {
  const { path, old_string: before, new_string: after, content, patch } = args
  const name = asString(path)
  if (typeof diff === 'string' && diff !== '') {
    const parts = diffParts(diff, name, budget)
    if (parts.length > 0) return parts
  }
  if (typeof before === 'string' && typeof after === 'string') return [replacementPart(name, before, after, budget)]
  if (typeof patch === 'string') return patchParts(patch, budget)
  if (name === '' || typeof content !== 'string') return []
  return [{ kind: 'lines', path: budget.line(name), first: 1, text: budget.head(content.replace(/\n$/, '')) }]
}

function commandPart(
  command: string,
  language: 'shell' | 'python',
  { output, stderr, error, exit_code: exit, timed_out: timedOut, status }: JsonObject,
  budget: ViewBudget,
): ToolViewPart {
  const printed = [output, stderr ?? error].filter((text) => typeof text === 'string' && text !== '')
  const state = typeof timedOut === 'string' ? timedOut : timedOut === true ? 'timed out' : asString(status)
  return {
    kind: 'command',
    command: budget.head(command),
    language,
    output: budget.ends(printed.join('\n')),
    ...(typeof exit === 'number' ? { exitCode: exit } : {}),
    state: budget.line(/^(?:success|ended|exited)$/.test(state) ? '' : state),
  }
}

function todosPart(todos: readonly unknown[], budget: ViewBudget): ToolViewPart {
  return {
    kind: 'todos',
    items: budget.list(todos).map((todo) => {
      const { content, status } = asRecord(todo)
      return {
        content: budget.line(asString(content)),
        status: statuses.find((known) => known === status) ?? 'pending',
      }
    }),
  }
}

const statuses = ['pending', 'in_progress', 'completed', 'cancelled'] as const

function linkParts(links: readonly unknown[], budget: ViewBudget): readonly ToolViewPart[] {
  const shown = budget.list(links).map((link) => {
    const { title, url, description, snippet, content, error } = asRecord(link)
    const pageText = asString(content)
    const address = asString(url)
    return {
      title: budget.line(asString(title) || address),
      url: /^https?:\/\//i.test(address) ? budget.line(address) : '',
      text:
        asString(error) !== ''
          ? budget.line(`Not read: ${asString(error)}`)
          : budget.line(asString(description ?? snippet)),
      pageText,
    }
  })
  const pages = shown.filter(({ pageText }) => pageText !== '')
  return [
    { kind: 'links', links: shown.map(({ title, url, text }) => ({ title, url, text })) },
    ...pages.map(({ title, pageText }) => {
      return { kind: 'text', title, text: budget.head(pageText), markdown: true } as const
    }),
  ]
}

function agentsPart(reports: readonly unknown[], args: JsonObject, budget: ViewBudget): ToolViewPart {
  const tasks = asArray(args['tasks'])
  return {
    kind: 'agents',
    agents: budget.list(reports).map((report, index) => {
      const { status, summary, output } = asRecord(report)
      const goal = asString(asRecord(tasks[index])['goal']) || (reports.length === 1 ? asString(args['goal']) : '')
      const text = output === undefined ? asString(summary) : toOutline(output)
      return { goal: budget.line(goal), status: budget.line(asString(status)), text: budget.head(text) }
    }),
  }
}

/** Lines as `12|text`. */
function linesPart(content: string, path: string, budget: ViewBudget): ToolViewPart {
  const first = Number(/^\s*(\d+)\|/.exec(content)?.[1] ?? 1)
  const text = content.replace(/^\s*\d+\|/gm, '')
  return { kind: 'lines', path: budget.line(path), first, text: budget.head(text) }
}

function textPart(text: string, budget: ViewBudget, markdown = false): ToolViewPart {
  return { kind: 'text', title: '', text: budget.head(text), markdown }
}

function outlinePart(title: string, value: unknown, budget: ViewBudget): ToolViewPart {
  return { kind: 'text', title: budget.line(title), text: budget.head(toOutline(value)), markdown: false }
}

function listPart(items: readonly unknown[], budget: ViewBudget): ToolViewPart {
  return outlinePart('', budget.list(items), budget)
}

/** Short values as a table, lists and objects below it. */
function fieldParts(value: JsonObject, budget: ViewBudget): readonly ToolViewPart[] {
  const entries = budget.list(Object.entries(value))
  const shortNames = new Set<string>()
  const short = entries.flatMap(([name, field]) => {
    const scalar = toScalar(field)
    if (scalar === undefined || scalar === '' || scalar.length > 400 || scalar.includes('\n')) return []
    shortNames.add(name)
    return [{ name: budget.line(name), value: budget.line(scalar) }]
  })
  const long = entries.filter(([name, field]) => field !== '' && !shortNames.has(name))
  return [
    ...(short.length === 0 ? [] : [{ kind: 'fields', fields: short } as const]),
    ...long.map(([name, field]) => outlinePart(name, field, budget)),
  ]
}

/** A picture that is stored under its content. */
const storedPicture = /^[0-9a-f]{64}\.(?:png|jpe?g|gif|webp)$/

function pictureParts(images: readonly ImagePart[], result: string | undefined): readonly ToolViewPart[] {
  const pictures = images.map(({ file, width, height }) => ({ name: `pictures/${file}`, width, height }))
  // A screenshot that the model did not see itself.
  const path = result?.includes('"screenshot_path"') ? asString(asRecord(parseJson(result))['screenshot_path']) : ''
  const file = path.slice(path.lastIndexOf('/') + 1)
  const isOther = storedPicture.test(file) && !images.some((image) => image.file === file)
  if (isOther) pictures.push({ name: `pictures/${file}`, width: 0, height: 0 })
  return pictures.length === 0 ? [] : [{ kind: 'pictures', pictures }]
}
