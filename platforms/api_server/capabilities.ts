/**
 * `GET /v1/capabilities`: what a client may expect, in the format of Hermes (contract `hermes.md` §5).
 */
import type { PlatformContext } from '#sdk'

export function capabilities({ context }: { readonly context: Pick<PlatformContext, 'gateway'> }): Response {
  const { model, provider, version } = context.gateway.info()
  return Response.json({
    object: 'hermes.api_server.capabilities',
    platform: 'hermes-gateway',
    version,
    model: model || provider,
    auth: { type: 'bearer', required: true },
    runtime: { mode: 'server_agent', tool_execution: 'server' },
    features: {
      chat_completions: true,
      chat_completions_streaming: true,
      responses_api: true,
      responses_streaming: true,
      run_submission: true,
      run_status: true,
      run_events_sse: true,
      run_stop: true,
      run_approval_response: true,
      run_clarify_response: true,
      approval_events: true,
      tool_progress_events: true,
      image_input: true,
      audio_input: true,
      client_tools: false,
      embeddings: false,
      idempotency: true,
      session_continuity_header: 'X-Hermes-Session-Id',
      session_key_header: 'X-Hermes-Session-Key',
    },
    endpoints: {
      health: endpoint('GET', '/health'),
      models: endpoint('GET', '/v1/models'),
      model: endpoint('GET', '/v1/models/{model}'),
      chat_completions: endpoint('POST', '/v1/chat/completions'),
      responses: endpoint('POST', '/v1/responses'),
      response: endpoint('GET', '/v1/responses/{response_id}'),
      response_delete: endpoint('DELETE', '/v1/responses/{response_id}'),
      runs: endpoint('POST', '/v1/runs'),
      run_status: endpoint('GET', '/v1/runs/{run_id}'),
      run_events: endpoint('GET', '/v1/runs/{run_id}/events'),
      run_list: endpoint('GET', '/v1/runs'),
      run_approval: endpoint('POST', '/v1/runs/{run_id}/approval'),
      run_clarify: endpoint('POST', '/v1/runs/{run_id}/clarify'),
      run_stop: endpoint('POST', '/v1/runs/{run_id}/stop'),
      capabilities: endpoint('GET', '/v1/capabilities'),
    },
  })
}

function endpoint(method: string, path: string): object {
  return { method, path }
}
