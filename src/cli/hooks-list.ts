/**
 * `hermes hooks list` and `hermes hooks info`.
 */
import type { CliContext, JsonOption } from './kit/context.ts'
import { type Cell, createDisplay, type Display } from './kit/display.ts'
import { showList } from './kit/list.ts'
import { findHook, type KnownHook, loadKnownHooks, withoutSecrets } from './shared/known-hooks.ts'

export async function hooksList(context: CliContext, { json }: JsonOption): Promise<void> {
  const { daemon, hooks: known, redact } = await loadKnownHooks(context)
  const hooks = known.map((hook) => withoutSecrets(hook, redact))
  showList(context, {
    json,
    rows: hooks,
    empty: `There are no hooks. \`hermes hooks new <name>\` creates one in ${context.home.hooks}.`,
    headings: ['HOOK', 'STATE', 'EVENTS', 'LANGUAGE', 'FIRED', 'FAILED', 'DROPPED', 'MEAN', 'P99', 'LAST ERROR'],
    cells: (hook) => [
      hook.name,
      stateCell(hook),
      hook.events.join(' '),
      hook.language === '' ? hook.kind : hook.language,
      String(hook.fired),
      String(hook.failed),
      String(hook.dropped),
      formatMilliseconds(hook.meanMs),
      formatMilliseconds(hook.p99Ms),
      formatLastError(hook),
    ],
    notes: daemon === undefined ? ['No gateway is running, so there are no statistics.'] : [],
  })
}

export async function hooksInfo(context: CliContext, name: string, { json }: JsonOption): Promise<void> {
  const { hooks, redact } = await loadKnownHooks(context)
  const hook = withoutSecrets(findHook(name, hooks), redact)
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(hook)
  display.fields(hookFields(hook, display).filter(([, value]) => value !== ''))
}

function hookFields(hook: KnownHook, display: Display): (readonly [string, Cell])[] {
  const { lastError: last } = hook
  return [
    ['Hook', hook.name],
    ['About', hook.description],
    ['State', stateCell(hook)],
    ['Reason', hook.reason],
    ['Newest version', hook.problem === '' ? '' : { text: `not in use: ${hook.problem}`, tone: 'warn' }],
    ['Events', hook.events.join(', ')],
    ['Language', hook.language],
    ['Folder', hook.folder],
    ['From', hook.origin],
    ['Time limit', hook.timeoutMs === 0 ? '' : `${hook.timeoutMs} ms`],
    ['Priority', String(hook.priority)],
    ['Fired', `${hook.fired} (${hook.failed} failed, ${hook.dropped} dropped, ${hook.waiting} waiting)`],
    ['Kills', hook.kills === 0 ? '' : { text: `its process was killed ${hook.kills} times`, tone: 'warn' }],
    [
      'Duration',
      hook.meanMs === null
        ? ''
        : `${formatMilliseconds(hook.meanMs)} on average, ${formatMilliseconds(hook.p99Ms)} at worst (p99)`,
    ],
    [
      'Last error',
      last === null ? '' : { text: `${display.formatTime(last.at)} ${last.event} ${last.text}`, tone: 'bad' },
    ],
  ]
}

const tones = { ready: 'good', paused: 'warn', disabled: 'dim', unavailable: 'warn' } as const

function stateCell({ state, problem }: KnownHook): Cell {
  const tone = Object.entries(tones).find(([name]) => name === state)?.[1] ?? 'bad'
  return problem === '' ? { text: state, tone } : { text: `${state} (old version)`, tone: 'warn' }
}

function formatLastError({ state, reason, problem, lastError: last }: KnownHook): string {
  if (problem !== '') return problem
  if (state === 'not-loaded') return reason
  return last === null ? reason : last.text
}

function formatMilliseconds(ms: number | null): string {
  return ms === null ? '' : `${ms < 10 ? ms.toFixed(2) : Math.round(ms)} ms`
}
