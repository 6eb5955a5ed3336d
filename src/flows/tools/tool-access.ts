/**
 * What single tools reach beyond their arguments: the web, and models that see. The code behind each is loaded with its first call.
 */
import type { AuxiliaryCaller } from '../../agent/models/auxiliary.ts'
import type { ToolServices } from '../../agent/tools/built-in-tools.ts'
import type { LoadedTools } from '../../agent/tools/registry.ts'
import type { CallingTurn } from '../../agent/tools/tool.ts'
import { chooseSearchService, type WebSettings } from '../../web/choose-service.ts'
import type { AgentModels } from '../models/agent-models.ts'
import type { AgentServicesDeps } from './agent-services.ts'
import { toolListOf } from './turn-tools.ts'
import type { WebAccessDeps } from './web-access.ts'

/** The tool, if the session of the turn is offered it. */
type FindTool = (turn: CallingTurn, name: string) => Promise<ReturnType<LoadedTools['resolve']>>

/** The web, and models that see. Their code is loaded with the first call. */
export function createToolAccess(
  deps: AgentServicesDeps,
  models: Pick<AgentModels, 'auxiliary' | 'model' | 'canSeePictures'>,
  findTool: FindTool,
): Required<Pick<ToolServices, 'web' | 'vision'>> {
  const variables = () => deps.environment().values
  return {
    web: {
      canSearch: () => isSearchConfigured(deps.settings().web, variables()),
      async open(turn) {
        const { createWebAccess } = await import('./web-access.ts')
        return createWebAccess({ ...deps, variables, auxiliary: models.auxiliary }, await callerOf(deps, models, turn))
      },
    },
    vision: {
      isConfigured: models.canSeePictures,
      async open(turn) {
        const { createVision } = await import('../models/vision.ts')
        const { pictures } = deps.home
        const parts = { pictures, auxiliary: models.auxiliary, redact: deps.redact }
        return createVision(parts, await callerOf(deps, models, turn))
      },
      mayReadFiles: async (turn) => await mayUseTool(deps, await findTool(turn, 'read_file'), 'read_file', turn),
    },
  }
}

/** A service whose key is missing is reported by `config check`; its tool would only fail. */
function isSearchConfigured(web: WebSettings, variables: ReturnType<WebAccessDeps['variables']>): boolean {
  const choice = chooseSearchService(web, variables)
  return choice !== undefined && !('missing' in choice)
}

/** Whether the role of the person permits the tool here. */
async function mayUseTool(
  { settings }: AgentServicesDeps,
  tool: ReturnType<LoadedTools['resolve']>,
  name: string,
  { authority }: CallingTurn,
): Promise<boolean> {
  if (tool === undefined) return false
  const { permitsTool } = await import('../../agent/loop/role-ceiling.ts')
  return permitsTool(toolListOf(settings().roles, authority), { name, toolset: tool.facts.toolset, mode: tool.mode })
}

/** For whom a tool calls a model. Empty outside of turns. */
async function callerOf(
  { turnInfoOf }: AgentServicesDeps,
  { model }: Pick<AgentModels, 'model'>,
  { event, sessionKey, settings, ...turn }: CallingTurn,
): Promise<AuxiliaryCaller> {
  if (event === undefined || sessionKey === undefined || settings === undefined || turnInfoOf === undefined) return {}
  const main = await model({ ...turn, event, settings })
  return { main, turn: turnInfoOf({ ...turn, event, sessionKey }, main) }
}
