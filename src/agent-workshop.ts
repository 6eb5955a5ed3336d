/**
 * Opens the tools and the place where they work, as the configuration wants them. A file of its own because all of it is
 * loaded only when the first turn needs it.
 */
import type { SessionResourcesDeps } from './agent/session-resources.ts'
import type { ToolBox } from './agent/tool-batch.ts'
import type { AgentServicesDeps } from './agent-services.ts'

export interface Workshop extends SessionResourcesDeps {
  readonly tools: ToolBox
}

export async function openWorkshop(deps: AgentServicesDeps & { cwd(): string }): Promise<Workshop> {
  const { createLocalEnvironment } = await import('./agent/environments/local.ts')
  const { createProcessTable } = await import('./agent/environments/processes.ts')
  return {
    tools: { schemas: () => [], prepare: () => ({ kind: 'invalid', error: 'no tools' }), mayRunTogether: () => false },
    createEnvironment: () => createLocalEnvironment({ cwd: deps.cwd(), env: deps.environment().process }),
    createProcessTable: () => createProcessTable({ now: Date.now }),
    readTodos: () => null,
  }
}
