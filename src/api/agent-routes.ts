/**
 * The HTTP routes about what the agent is given: its tools and its system prompt.
 */

import type { PromptPreview } from '../flows/prompt/prompt-preview.ts'
import type { KnownTool } from '../flows/tools/known-tools.ts'
import type { HttpRoute } from '../platforms/adapter.ts'

export interface AgentRoutesDeps {
  /** The built-in tools and those of the loaded plugins, whatever the configuration says. */
  knownTools(): Promise<readonly KnownTool[]>
  /** The prompt of a new conversation. Rejects `http/not-found` for a platform that does not exist. */
  previewPrompt(platform: string): Promise<PromptPreview>
}

export function agentRoutes({ knownTools, previewPrompt }: AgentRoutesDeps): HttpRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/tools',
      access: 'token',
      handle: async () => Response.json({ tools: await knownTools() }),
    },
    {
      method: 'GET',
      path: '/api/prompt',
      access: 'token',
      async handle(request) {
        const [{ parseInput }, { promptQuery }] = await Promise.all([
          import('../lib/parse-input.ts'),
          import('./management-shapes.ts'),
        ])
        const { platform } = parseInput(promptQuery, Object.fromEntries(new URL(request.url).searchParams))
        return Response.json(await previewPrompt(platform))
      },
    },
  ]
}
