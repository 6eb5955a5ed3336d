/**
 * Why built-in tools are not offered although no list takes them away: what they need is not there.
 */
import { findBrowser } from '../../agent/browser/find-browser.ts'
import { runsOnThisMachine } from '../../agent/environments/kinds.ts'
import type { MediaTask } from '../../agent/media/endpoint.ts'
import { seesPictures } from '../../agent/models/create-provider.ts'
import { resolveProvider } from '../../agent/models/resolve-provider.ts'
import { builtInTools } from '../../agent/tools/built-in-tools.ts'
import { findProgram } from '../../lib/find-program.ts'
import { chooseSearchService } from '../../web/choose-service.ts'
import type { CliContext } from '../kit/context.ts'
import type { Settings } from '../kit/settings.ts'
import { selectionOf } from '../shared/known-keys.ts'
import { endpointOf } from './media.ts'

/** The built-in tools of these toolsets. */
function namesIn(...toolsets: readonly string[]): readonly string[] {
  return [...builtInTools.values()].filter(({ toolset }) => toolsets.includes(toolset)).map(({ name }) => name)
}

/** The reasons by the name of the tool, for people. */
export function findUnavailableTools(context: CliContext, settings: Settings): ReadonlyMap<string, string> {
  const { browser, memory, terminal, web } = settings.config.current()
  const { values } = settings.config.environment()
  const reasons = new Map<string, string>()
  if (terminal.backend === 'none')
    for (const name of namesIn('terminal', 'file', 'code_execution'))
      reasons.set(name, `terminal.backend is ${terminal.backend}`)
  else if (runsOnThisMachine(terminal.backend) && findProgram('python3', values['PATH'] ?? '') === undefined)
    reasons.set('execute_code', 'there is no python3')
  if (!memory.memory_enabled && !memory.user_profile_enabled) reasons.set('memory', 'the memory is off')
  const search = chooseSearchService(web, values)
  if (search === undefined) reasons.set('web_search', 'no search service has a key')
  else if ('missing' in search) reasons.set('web_search', `${search.missing} is missing`)
  if (findBrowser(browser, values['PATH'] ?? '') === undefined)
    for (const name of namesIn('browser'))
      reasons.set(name, browser.enabled === false ? 'browser.enabled is false' : 'no browser is installed')
  if (!canSee(settings)) reasons.set('vision_analyze', 'no model that reads pictures is configured')
  const makers: readonly (readonly [string, MediaTask])[] = [
    ['text_to_speech', 'tts'],
    ['image_generate', 'image'],
  ]
  for (const [name, task] of makers) {
    const endpoint = endpointOf(context, settings, task)
    if (endpoint.kind === 'none') reasons.set(name, endpoint.problem)
  }
  return reasons
}

function canSee(settings: Settings): boolean {
  const { agent, auxiliary, model } = settings.config.current()
  const { provider, model: named, base_url: baseUrl } = auxiliary.vision
  if (!['auto', 'main', ''].includes(provider) || named !== '' || baseUrl !== '') return true
  const selection = selectionOf(settings, undefined)
  const choice = resolveProvider(selection)
  return (
    choice !== undefined &&
    seesPictures({ imageInputMode: agent.image_input_mode, providers: selection.providers ?? {} }, choice.name, model)
  )
}
