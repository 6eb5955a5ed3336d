/**
 * The REST API of Mem0: the cloud (`/v1`, `/v2`, `Authorization: Token`) and a server of one's own (`X-API-Key`). Each request
 * has a time limit, and each answer a limit of size. No error contains the key.
 */
import { asArray, asString, type Fields, isRecord } from '#sdk'

export interface Memory {
  readonly id: string
  readonly memory: string
}

export interface Mem0Message {
  readonly role: string
  readonly content: string
}

export interface Mem0Owner {
  readonly userId: string
  readonly agentId: string
}

export interface Mem0Client {
  /** The best match first. */
  search(query: string, owner: Mem0Owner, limit: number): Promise<readonly Memory[]>
  /** @param how `infer`: Mem0 extracts facts; otherwise the text is stored as it is */
  add(
    messages: readonly Mem0Message[],
    owner: Mem0Owner,
    how: { readonly infer: boolean; readonly timeoutMs?: number },
  ): Promise<void>
  /** Rejects when the memory does not belong to the owner. */
  remove(id: string, owner: Mem0Owner): Promise<void>
}

const cloudHost = 'https://api.mem0.ai'
const maxResponseBytes = 1_000_000

/**
 * @param host '' for the cloud
 * @param timeoutMs limits the time of one request
 */
export function createMem0Client(
  { apiKey, host }: { readonly apiKey: string; readonly host: string },
  timeoutMs: number,
  send = fetch,
): Mem0Client {
  const isCloud = host === ''
  const base = isCloud ? cloudHost : host
  const credentials: Readonly<Record<string, string>> =
    apiKey === ''
      ? {}
      : isCloud || isCloudAddress(host)
        ? { authorization: `Token ${apiKey}` }
        : { 'x-api-key': apiKey }
  const usesCloudPaths = isCloud || isCloudAddress(host)

  async function request(method: string, path: string, body?: Fields, limitMs = timeoutMs): Promise<unknown> {
    const response = await send(`${base}${path}`, {
      method,
      headers: { ...credentials, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
      // A redirect could carry the key to another host.
      redirect: 'error',
      signal: AbortSignal.timeout(limitMs),
    })
    const text = await readLimited(response)
    if (!response.ok) throw new Error(`Mem0 answered ${method} ${path} with status ${response.status}`)
    return text.trim() === '' ? {} : JSON.parse(text)
  }

  return {
    async search(query, { userId }, limit) {
      const body = { query, filters: { user_id: userId }, top_k: limit }
      const results = await request('POST', usesCloudPaths ? '/v2/memories/search/' : '/search', body)
      return memoriesIn(results).slice(0, limit)
    },
    async add(messages, { userId, agentId }, { infer, timeoutMs: limitMs }) {
      const body = { messages, user_id: userId, agent_id: agentId, infer }
      const path = usesCloudPaths ? '/v1/memories/' : '/memories'
      await request('POST', path, usesCloudPaths ? { ...body, version: 'v2', output_format: 'v1.1' } : body, limitMs)
    },
    async remove(id, { userId }) {
      const path = `${usesCloudPaths ? '/v1' : ''}/memories/${encodeURIComponent(id)}${usesCloudPaths ? '/' : ''}`
      // The key may delete the memories of all people.
      const memory = await request('GET', path)
      if (!isRecord(memory) || memory['user_id'] !== userId) throw new Error(`there is no memory ${id} of this person`)
      await request('DELETE', path)
    },
  }
}

function isCloudAddress(host: string): boolean {
  return host === cloudHost
}

/** A list, or an object with `results`. */
function memoriesIn(answer: unknown): readonly Memory[] {
  const list = isRecord(answer) ? asArray(answer['results']) : asArray(answer)
  return list.flatMap((memory) =>
    isRecord(memory) && typeof memory['memory'] === 'string'
      ? [{ id: asString(memory['id']), memory: memory['memory'] }]
      : [],
  )
}

async function readLimited(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxResponseBytes) throw new Error(`Mem0 answered with more than ${maxResponseBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
