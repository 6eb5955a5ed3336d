/**
 * Helpers of the stories: model requests, database rows and JSON responses.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { HomeLayout } from '../../src/lib/home.ts'
import type { UserMessage } from '../kit/fake-platform.ts'
import type { ShownMessage } from '../kit/fake-platform-messages.ts'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import type { TestGateway } from '../kit/start-gateway.ts'

/** The messages of a model request without the system prompt, as `role: content`. */
export function conversation(request: RecordedRequest | undefined): string[] {
  const messages = request?.body['messages']
  if (!Array.isArray(messages)) throw new Error('the request has no messages')
  return messages.filter(({ role }) => role !== 'system').map(({ role, content }) => `${role}: ${content}`)
}

/** Reads rows of the database of a home, also while the gateway runs. */
export function rowsIn(home: HomeLayout, sql: string): Record<string, unknown>[] {
  const db = new DatabaseSync(home.databaseFile, { readOnly: true })
  try {
    return db.prepare(sql).all()
  } finally {
    db.close()
  }
}

/** The first question of a chat: an approval or a confirmation. Rejects when that takes too long. */
export function waitForQuestion(gateway: TestGateway, chat?: string): Promise<ShownMessage> {
  return waitForKey(gateway, 'question:', '', chat)
}

/** The first answer to a command that contains the text. Rejects when that takes too long. */
export function waitForCommandReply(gateway: TestGateway, text = '', chat?: string): Promise<ShownMessage> {
  return waitForKey(gateway, 'command:', text, chat)
}

/** Sends a command and resolves with the text of its reply. Rejects when that takes too long. */
export async function runCommand(gateway: TestGateway, text: string, options?: UserMessage): Promise<string> {
  const isReply = ({ key }: ShownMessage) => key.startsWith('command:')
  const earlier = new Set(
    gateway.platform
      .shown()
      .filter(isReply)
      .map(({ key }) => key),
  )
  await gateway.say(text, options)
  return (await gateway.until((message) => isReply(message) && !earlier.has(message.key))).text
}

function waitForKey(gateway: TestGateway, prefix: string, text: string, chat?: string): Promise<ShownMessage> {
  return gateway.until(
    (message) =>
      message.key.startsWith(prefix) && message.text.includes(text) && (chat === undefined || message.chat === chat),
  )
}

/** Adds quick commands to the configuration of a running gateway. */
export function addQuickCommands({ home, current }: TestGateway, quick: Readonly<Record<string, unknown>>): void {
  const config: object = JSON.parse(readFileSync(home.configFile, 'utf8'))
  writeFileSync(home.configFile, JSON.stringify({ ...config, quick_commands: quick }))
  current().config.reload()
}

/** A command that runs until the test releases it. */
export function createHeldCommand({ root }: HomeLayout): { readonly command: string; release(): Promise<void> } {
  const pipe = join(root, 'release')
  execFileSync('mkfifo', [pipe])
  return { command: `cat '${pipe}'`, release: () => writeFile(pipe, '') }
}

/** A model response that calls the tool `terminal`. */
export function terminalCall(command: string): ModelReply {
  return { toolCalls: [{ name: 'terminal', arguments: { command } }] }
}

/** Whether the last message of a request is a tool result. */
export function hasResult({ body }: RecordedRequest): boolean {
  const messages = body['messages']
  return Array.isArray(messages) && messages.at(-1)?.role === 'tool'
}

/** The value at a path of a JSON response: `at(body, 'error', 'code')`; undefined if there is none. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let current = value
  for (const name of path) {
    if (typeof current !== 'object' || current === null) return undefined
    current = new Map(Object.entries(current)).get(String(name))
  }
  return current
}

/** A zombie process counts as ended. */
export function isAlive(pid: number): boolean {
  try {
    const state = execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim()
    return !state.startsWith('Z')
  } catch {
    return false
  }
}

type Attempt = readonly [method: 'GET' | 'POST', path: string, body?: unknown]

/** Without a token, with a wrong one, and from a page of another server, each route answers with nothing but the refusal. */
export async function refuseStrangers(gateway: TestGateway, attempts: readonly Attempt[]): Promise<void> {
  const { url } = gateway.current()
  const token = gateway.current().token()
  for (const [method, path, body] of attempts) {
    const sent = body === undefined ? null : JSON.stringify(body)
    const ask = async (headers: Readonly<Record<string, string>>) =>
      (
        await fetch(`${url}${path}`, {
          method,
          body: sent,
          headers: { 'content-type': 'application/json', ...headers },
        })
      ).status
    assert.equal(await ask({}), 401, path)
    assert.equal(await ask({ authorization: 'Bearer wrong' }), 401, path)
    assert.equal(await ask({ authorization: `Bearer ${token}`, origin: 'https://evil.example' }), 403, path)
  }
}
