/**
 * The requests of `callRoute`: whole answers over `node:http`. The `fetch` of Node loads undici with its WebAssembly, which takes three
 * times the CPU of an empty process, and a command asks once or twice.
 */

/** The part of a `Response` that the answer of a route needs. */
export interface ApiResponse {
  readonly ok: boolean
  readonly status: number
  text(): Promise<string>
}

interface ApiRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Blob | string | null
  readonly signal: AbortSignal | null
}

export type ApiFetch<Answer extends ApiResponse = ApiResponse> = (address: URL, request: ApiRequest) => Promise<Answer>

/** Works like `fetch` with an address of `http:`. Rejects with the reason of the signal, and with errors of the system. */
export async function httpFetch(address: URL, { method, headers, body, signal }: ApiRequest): Promise<ApiResponse> {
  // An import statement would read each export of the module, and one of them loads undici.
  const { request } = process.getBuiltinModule('node:http')
  const content = body === null || typeof body === 'string' ? body : Buffer.from(await body.arrayBuffer())
  return await new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(signal?.aborted === true ? signal.reason : error)
    const options = { method, headers, agent: false, signal: signal ?? undefined }
    const sent = request(address, options, (response) => {
      const { statusCode: status = 0 } = response
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => {
        text += part
      })
      response.on('error', fail)
      response.on('end', () => resolve({ ok: status >= 200 && status < 300, status, text: async () => text }))
    })
    sent.on('error', fail)
    sent.end(content)
  })
}
