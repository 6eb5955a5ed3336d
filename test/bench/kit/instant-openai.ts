/**
 * Replaces the package `openai` to measure the own share of the gateway in a turn: it returns the bytes of a server at
 * once and without a connection.
 */
const pieces = ['Here', ' is', ' an', ' answer', ' of', ' ten', ' short', ' words', ' for', ' you']
const frames = [
  ...pieces.map((content) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { choices: [], usage: { prompt_tokens: 11, completion_tokens: 10, total_tokens: 21 } },
]
const stream = `${frames
  .map(
    (frame) => `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', model: 'instant', ...frame })}\n\n`,
  )
  .join('')}data: [DONE]\n\n`

export class OpenAI {
  post(_path: string, { body }: { readonly body: unknown }): { asResponse(): Promise<Response> } {
    // The SDK would serialise the body, so this cost belongs to every turn.
    JSON.stringify(body)
    return { asResponse: async () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } }) }
  }
}
