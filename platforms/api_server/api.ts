/**
 * The routes of the API. Loaded with the first request, so that a gateway without API clients does not hold it in memory.
 */
import { handleCompletion, modelOf } from './completions.ts'
import { ApiError, errorResponse, toApiError } from './errors.ts'
import { modelEntry, modelList } from './format-response.ts'
import type { ApiServer } from './server.ts'

type Handler = (server: ApiServer, request: Request) => Promise<Response>

/** By route: what serves it. Rejects with internal errors only. */
export const handlers = {
  completions: handleCompletion,
  models: async ({ context, created }) => Response.json(modelList(modelOf(context), created)),
  model: async ({ context, created }, request) => Response.json(findModel(request, modelOf(context), created)),
  createResponse: async (server, request) => (await import('./responses.ts')).createResponse(server, request),
  getResponse: async (server, request) => (await import('./responses.ts')).getResponse(server, request),
  deleteResponse: async (server, request) => (await import('./responses.ts')).deleteResponse(server, request),
  createRun: async ({ runs }, request) => (await runs()).create(request),
  listRuns: async ({ runs }, request) => (await runs()).list(request),
  getRun: async ({ runs }, request) => (await runs()).get(request),
  actOnRun: async ({ runs }, request) => (await runs()).act(request),
  capabilities: async (server) => (await import('./capabilities.ts')).capabilities(server),
  embeddings() {
    throw new ApiError(501, 'The gateway serves an agent and creates no embeddings; use the API of a model vendor.', {
      code: 'embeddings_not_supported',
    })
  },
} satisfies Record<string, Handler>

/** Converts errors that the client can act on. The server logs the others. */
export async function serve(name: keyof typeof handlers, server: ApiServer, request: Request): Promise<Response> {
  try {
    return await handlers[name](server, request)
  } catch (error) {
    const known = toApiError(error)
    if (known === null) throw error
    return errorResponse(known)
  }
}

function findModel(request: Request, model: string, created: number): unknown {
  const { pathname } = new URL(request.url)
  const asked = pathname.slice('/v1/models/'.length)
  if (asked === model || asked === encodeURIComponent(model)) return modelEntry(model, created)
  throw new ApiError(404, `The model '${asked}' does not exist; this gateway uses '${model}'.`, {
    param: 'model',
    code: 'model_not_found',
  })
}
