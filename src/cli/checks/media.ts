/**
 * Checks who transcribes recordings, speaks answers and draws pictures. Nothing is sent to them.
 */
import { chooseEndpoint, type Endpoint, type MediaTask } from '../../agent/media/endpoint.ts'
import { resolveProvider } from '../../agent/models/resolve-provider.ts'
import { findProgram } from '../../lib/find-program.ts'
import type { CliContext } from '../kit/context.ts'
import type { Settings } from '../kit/settings.ts'
import { openKeys, selectionOf } from '../shared/known-keys.ts'
import { type Check, type CheckResult, note, ok } from './check-result.ts'

const tasks: readonly { readonly task: MediaTask; readonly work: string; readonly section: string }[] = [
  { task: 'stt', work: 'voice messages are transcribed', section: 'stt' },
  { task: 'tts', work: 'answers are spoken', section: 'tts' },
  { task: 'image', work: 'pictures are drawn', section: 'image_gen' },
]

export const checkMedia: Check = ({ context, settings }) => {
  const { stt } = settings.config.current()
  return tasks.map(({ task, work, section }) => {
    if (task === 'stt' && !stt.enabled) return ok(subjectOf(task), 'voice messages are not transcribed (stt.enabled)')
    const endpoint = endpointOf(context, settings, task)
    const missing = missingProgram(endpoint, context.environment['PATH'] ?? '')
    const problem = endpoint.kind === 'none' ? endpoint.problem : missing
    if (problem === undefined) return ok(subjectOf(task), `${work.replace(' are ', ' can be ')}: ${describe(endpoint)}`)
    const text = `${work.replace(' are ', ' cannot be ')}: ${problem}`
    const isExpected = endpoint.kind !== 'none' || endpoint.isWanted || isAsked(settings, task)
    return isExpected
      ? note(subjectOf(task), text, `Correct \`${section}\` in config.yaml.`)
      : ok(subjectOf(task), text)
  })
}

/** What is configured and cannot work, for `hermes config check`. */
export async function mediaProblems(context: CliContext, settings: Settings): Promise<readonly string[]> {
  const results: readonly CheckResult[] = await checkMedia({ context, settings, daemon: undefined, offline: true })
  return results.filter(({ state }) => state !== 'ok').map(({ text, advice = '' }) => `${text}. ${advice}`)
}

/** The service that does the task. */
export function endpointOf({ home }: CliContext, settings: Settings, task: MediaTask): Endpoint {
  const keys = openKeys(settings, home.authFile, { needsFile: false })
  return chooseEndpoint({
    task,
    settings: settings.config.current(),
    main: selectionOf(settings, undefined),
    hasStoredKey(selection) {
      const choice = resolveProvider(selection)
      if (choice === undefined || selection.hasOwnKey === true) return false
      const provider = resolveProvider(selectionOf(settings, choice.name))
      return (provider === undefined || provider.baseUrl === choice.baseUrl) && keys.list(choice.name).length > 0
    },
  })
}

function isAsked({ config }: Settings, task: MediaTask): boolean {
  return task === 'tts' && config.current().voice.auto_tts
}

function missingProgram(endpoint: Endpoint, searchPath: string): string | undefined {
  const program = endpoint.kind === 'command' ? (endpoint.argv[0] ?? '') : undefined
  if (program === undefined || program.includes('/')) return undefined
  return findProgram(program, searchPath) === undefined ? `there is no program ${program} on the PATH` : undefined
}

function describe(endpoint: Endpoint): string {
  switch (endpoint.kind) {
    case 'command':
      return endpoint.argv[0] ?? ''
    case 'fal':
      return `${endpoint.model} at ${hostOf(endpoint.baseUrl)}`
    case 'openai':
      return `${endpoint.model} at ${hostOf(resolveProvider(endpoint.selection)?.baseUrl ?? '')}`
    case 'none':
      return endpoint.problem
  }
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url
}

function subjectOf(task: MediaTask): string {
  return task === 'stt' ? 'Hearing' : task === 'tts' ? 'Speech' : 'Drawing'
}
