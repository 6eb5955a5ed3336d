/**
 * The plugins in Python that the documentation of Hermes shows, copied as they are written there: in a whole gateway, from
 * a message to what they record, print and change. What they would send over the network is written down instead.
 */
import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { sandboxLanes } from '../agent/sandbox/victim.ts'
import { path, python, withoutPython } from '../hosts/support.ts'
import type { RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'

const seeds = fileURLToPath(new URL('./seeds', import.meta.url))
const skip = withoutPython
type Json = Readonly<Record<string, unknown>>

interface Seeded {
  readonly gateway: TestGateway
  /** What was posted, and what plugins held in their variables when their process ended. */
  recorded(): { readonly posted: readonly Json[]; readonly held: readonly Json[] }
}

async function withSeeds(t: TestContext, names: readonly string[], options: TestGatewayOptions): Promise<Seeded> {
  const gateway = await startTestGateway(t, {
    ...options,
    config: {
      plugins: { enabled: names },
      ...(python === undefined ? {} : { hooks: { python } }),
      ...options.config,
    },
    prepare: (home) => cpSync(join(seeds, 'python'), home.plugins, { recursive: true }),
    startNow: false,
  })
  const file = (name: string) => join(gateway.home.root, name)
  const started = await gateway.start({
    environment: {
      PATH: path,
      HOME: gateway.home.root,
      PYTHONPATH: join(seeds, 'stand-in'),
      HTTP_RECORD: file('posted.jsonl'),
      STATE_RECORD: file('held.jsonl'),
    },
  })
  await started.initialConnectsDone()
  await started.pluginsLoaded()
  return { gateway, recorded: () => ({ posted: linesOf(file('posted.jsonl')), held: linesOf(file('held.jsonl')) }) }
}

function linesOf(file: string): Json[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return lines.map((line): Json => JSON.parse(line))
}

function textOf(request: RecordedRequest): string {
  return JSON.stringify(request.body)
}

/** One message of the gateway's log as it was written by a plugin. */
function said(gateway: TestGateway, plugin: string): string[] {
  return gateway.log.flatMap((line) => {
    const { plugin: by, stream, logger, msg }: Json = JSON.parse(line)
    return by === plugin && (stream !== undefined || logger !== undefined) ? [String(msg)] : []
  })
}

const seeded = readdirSync(join(seeds, 'python')).filter((name) => name !== 'kora')
const command = { name: 'terminal', arguments: { command: 'pwd' } }

/** The folder that the example of `tool_request` names. */
const demoFolder = '/tmp/hermes-middleware-demo'

for (const { sandbox, missing, inSandbox } of await sandboxLanes()) {
  const skipHere = skip || missing
  test(`the working directory that the example of tool_request sets is where the command runs${inSandbox}`, {
    skip: skipHere,
  }, async (t) => {
    mkdirSync(demoFolder, { recursive: true })
    const answerOf = async (terminal: Json) => {
      const { gateway } = await withSeeds(t, ['terminal-workdir'], {
        replies: [{ toolCalls: [command] }, { text: 'Done' }],
        config: { plugins: { enabled: ['terminal-workdir'] }, terminal: { sandbox, ...terminal } },
      })
      await gateway.say('where are you')
      await gateway.waitForReply('Done')
      return textOf(await gateway.modelRequest(1))
    }
    assert.match(await answerOf({ sandbox_write: [demoFolder] }), /output\W+\/tmp\/hermes-middleware-demo\W/)
    // Bubblewrap replaces /tmp, and says so.
    if (sandbox === 'bwrap') assert.match(await answerOf({}), /terminal\.sandbox_write/)
  })

  test(`the plugins of the documentation run unchanged in one gateway${inSandbox}`, {
    skip: skipHere,
  }, async (t) => {
    const { gateway, recorded } = await withSeeds(t, seeded, {
      replies: [
        { toolCalls: [command, { name: 'read_file', arguments: { path: 'nowhere.txt' } }] },
        { text: 'Done at last' },
        { text: 'Again' },
      ],
      config: { plugins: { enabled: seeded }, terminal: { sandbox } },
    })
    const reports = await gateway.current().plugins()
    const loaded = reports.filter(({ state }) => state === 'loaded').map(({ id }) => id)
    assert.deepEqual(
      loaded.toSorted(),
      seeded.toSorted(),
      JSON.stringify(reports.filter(({ reason }) => reason !== '')),
    )

    await gateway.say('look around')
    await gateway.waitForReply('Done at last')
    await gateway.say('once more')
    await gateway.waitForReply('Again')
    const [first, second, third] = [
      await gateway.modelRequest(0),
      await gateway.modelRequest(1),
      await gateway.modelRequest(2),
    ]
    await gateway.stop()
    const { posted, held } = recorded()
    const sessionId = String(Object(posted[0]?.['body'])['session_id'])

    await t.test(
      'what is recalled, and the policy, stand behind what the user wrote, in every call of the turn',
      () => {
        const context =
          'Never execute commands that delete files without explicit user confirmation.\\n\\nRecalled context:\\n- Ada likes short answers\\n- It rains'
        for (const request of [first, second]) assert.ok(textOf(request).includes(context), textOf(request))
        assert.ok(textOf(third).includes('once more'))
      },
    )
    await t.test('memory is asked and told over HTTP', () => {
      const body = { session_id: sessionId }
      const sentTo = (path: string) =>
        posted.filter(({ url }) => url === `https://your-memory-api.example.com/${path}`).map(({ body }) => body)
      // A turn is stored after its reply, so the next turn may begin before that.
      assert.deepEqual(sentTo('recall'), [
        { ...body, query: 'look around' },
        { ...body, query: 'once more' },
      ])
      assert.deepEqual(sentTo('store'), [
        { ...body, user: 'look around', assistant: 'Done at last' },
        { ...body, user: 'once more', assistant: 'Again' },
      ])
    })
    await t.test('tools are told of in the log, dangerous ones on the terminal', () => {
      assert.deepEqual(said(gateway, 'audit-tool-call').toSorted(), [
        `TOOL_CALL session=${sessionId} tool=read_file args={"path": "nowhere.txt"}`,
        `TOOL_CALL session=${sessionId} tool=terminal args={"command": "pwd", "workdir": "/tmp/hermes-middleware-demo"}`,
      ])
      assert.deepEqual(said(gateway, 'warn-dangerous'), ['⚠ Executing potentially dangerous tool: terminal'])
    })
    await t.test('calls and errors of tools are counted', () => {
      const counts = held.find(({ module }) => module === 'hermes_plugin_track_metrics')
      assert.deepEqual(counts?.['_tool_counts'], { terminal: 1, read_file: 1 })
      assert.equal(Object(counts?.['_error_counts'])['read_file'], 1)
    })
    await t.test('answers and sessions are measured', () => {
      assert.deepEqual(said(gateway, 'log-response-length'), [
        `RESPONSE session=${sessionId} model=test-model chars=12`,
        `RESPONSE session=${sessionId} model=test-model chars=5`,
      ])
      const [duration, ...more] = said(gateway, 'session-duration')
      assert.match(
        duration ?? '',
        new RegExp(`^SESSION_DURATION session=${sessionId} seconds=\\d+\\.\\d completed=True interrupted=False$`),
      )
      assert.deepEqual(more, [])
      const cache = held.find(({ module }) => module === 'hermes_plugin_init_session')?.['_session_caches']
      const { model, platform, tool_calls: calls } = Object(Object(cache)[sessionId])
      assert.deepEqual({ model, platform, calls }, { model: 'test-model', platform: 'fake', calls: 0 })
      assert.deepEqual(said(gateway, 'session-cache'), [`Session ${sessionId} ended: completed, 0 tool calls`])
      assert.deepEqual(said(gateway, 'cleanup-session'), [])
    })
    await t.test('requests are tagged, model calls are timed, and answers come through as they are', () => {
      for (const request of [first, second, third]) {
        assert.deepEqual(Object(request.body)['metadata'], { hermes_middleware_demo: true })
      }
      const times = said(gateway, 'time-llm-execution')
      assert.equal(times.length, 3)
      for (const line of times) assert.match(line, /^llm_execution elapsed_ms=\d+$/)
    })
  })
}

for (const { sandbox, missing, inSandbox } of await sandboxLanes()) {
  test(`Python plugins override requests, filter tools, reissue a model call and run a daemon${inSandbox}`, {
    skip: skip || missing,
  }, async (t) => {
    const { gateway, recorded } = await withSeeds(t, ['kora'], {
      config: { plugins: { enabled: ['kora'] }, terminal: { sandbox } },
      replies: [
        { toolCalls: [{ name: 'terminal', arguments: { command: 'true' } }] },
        { text: 'I am not sure' },
        { text: 'It is so' },
      ],
    })
    await gateway.say('is it so?')
    await gateway.waitForReply('It is so')
    const requests = [await gateway.modelRequest(0), await gateway.modelRequest(1), await gateway.modelRequest(2)].map(
      ({ body }) => Object(body),
    )
    await gateway.stop()
    assert.deepEqual(
      requests.map(({ model, temperature }) => [model, temperature]),
      [
        ['test-model', 0],
        ['test-model', 0],
        ['large-model', 0],
      ],
    )
    const notes = recorded().held
    const tools = notes.find(({ kora }) => kora === 'tools')
    for (const request of requests) assert.equal(request.tools.length, tools?.['after'])
    assert.ok(Number(tools?.['before']) > Number(tools?.['after']))
    assert.equal(tools?.['route'], 'fake_dm')
    const life = notes.map(({ kora }) => kora).filter((one) => one !== 'tools')
    assert.deepEqual(life, ['startup', 'tick', 'shutdown'])
  })
}
