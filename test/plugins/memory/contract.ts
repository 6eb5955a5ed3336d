/**
 * What every memory provider meets, in whatever language it is written: the same conversation, and the calls that follow from
 * it. The provider under test writes each call into a journal.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { testToolContext } from '../../agent/in-memory-deps.ts'
import { ada, adasTurn, answered, type TestMemory } from './support.ts'

export interface ProviderUnderTest extends TestMemory {
  /** The calls so far: the name in Python, then what it received. */
  journal(): unknown[]
  /** Where the provider thinks it is. */
  readonly hermesHome: string
}

const said = [
  { role: 'user', content: 'Where is the key?' },
  { role: 'assistant', content: 'In the drawer.' },
]

/** A conversation from its first to its last moment. */
export async function runConversation(t: TestContext, under: ProviderUnderTest): Promise<void> {
  const { memory, tools, messages, drained, journal } = under
  const step = async (name: string, run: () => unknown, expected: readonly unknown[]) =>
    t.test(name, async () => {
      const before = journal().length
      await run()
      assert.equal(await drained(), true)
      assert.deepEqual(journal().slice(before), expected)
    })

  await step('asks whether it is available, and registers its tools', () => memory.refresh(), [
    ['is_available'],
    ['get_tool_schemas'],
  ])
  assert.deepEqual(
    tools.list().map(({ definition: { name, toolset, description } }) => [name, toolset, description]),
    [['notes_find', 'memory', 'Finds notes']],
  )
  assert.equal(memory.activeProviderName(), 'notes')

  await step(
    'initializes it for a person, and takes its part of the prompt',
    async () => assert.equal(await memory.promptBlock(ada), 'Notes of ada.'),
    [
      [
        'initialize',
        's1',
        { hermes_home: under.hermesHome, platform: 'web', agent_context: 'primary', user_id: 'ada' },
      ],
      ['system_prompt_block'],
    ],
  )
  await step('recalls once per turn, as data', async () => {
    const recalled = await memory.recall(adasTurn, 'Where is the key?')
    assert.match(recalled, /^<memory-context>\n\[System note: [^\n]+\]\n\nkey: drawer \(s1\)\n<\/memory-context>$/)
  }, [
    ['on_turn_start', 1, 'Where is the key?'],
    ['prefetch', 'Where is the key?', 's1'],
  ])
  await step(
    'gets the turn behind the reply, and may prepare the next one',
    () => memory.syncTurn(adasTurn, answered('Where is the key?', 'In the drawer.', said)),
    [
      ['sync_turn', 'Where is the key?', 'In the drawer.', 's1', 2],
      ['queue_prefetch', 'Where is the key?', 's1'],
    ],
  )
  await step(
    'recalls nothing for a confirmation',
    async () => assert.equal(await memory.recall(adasTurn, 'Thanks!'), ''),
    [['on_turn_start', 2, 'Thanks!']],
  )
  await step('runs its tools', async () => assert.equal(await runTool(under, 's1'), '{"found": ["drawer"]}'), [
    ['handle_tool_call', 'notes_find', { query: 'key' }],
  ])
  await step('refuses its tools to other sessions', () => assert.rejects(runTool(under, 'child')), [])
  const child = { sessionId: 'c1', goal: 'look' }
  await step('learns what a sub-agent did', () => memory.delegated(adasTurn, child, 'found it'), [
    ['on_delegation', 'look', 'found it', 'c1'],
  ])
  const metadata = { old_text: 'tea' }
  await step(
    'learns what the built-in memory stored',
    () => memory.memoryWritten({ action: 'replace', target: 'user', content: 'likes sk-1', metadata }, ada),
    [['on_memory_write', 'replace', 'user', 'likes [redacted]', metadata]],
  )
  await step(
    'says what a summary must keep',
    async () => assert.equal(await memory.beforeCompression(said, ada), 'Keep 2 messages.'),
    [['on_pre_compress', 2]],
  )
  const change = { sessionKey: 'web:dm:1', platform: 'web', chatType: 'dm', userId: 'ada', role: 'owner' } as const
  await step(
    'learns that messages were taken back',
    () => memory.sessionReplaced({ ...change, oldSessionId: 's1', newSessionId: 's1', reason: 'undo' }),
    [['on_session_switch', 's1', 's1', false, true]],
  )
  await step('follows the conversation into another session', async () => {
    memory.sessionReplaced({ ...change, oldSessionId: 's1', newSessionId: 's2', reason: 'branch' })
    assert.match(await memory.recall({ ...adasTurn, sessionId: 's2', taskId: 's2' }, 'And now?'), /\(s2\)/)
  }, [
    ['on_session_switch', 's2', 's1', false, false],
    ['on_turn_start', 3, 'And now?'],
    ['prefetch', 'And now?', 's2'],
  ])
  messages.set('s2', said)
  await step('learns the end of a session before the next one begins', async () => {
    memory.sessionReplaced({ ...change, oldSessionId: 's2', newSessionId: 's3', reason: 'new' })
    assert.equal(await memory.promptBlock({ ...ada, sessionId: 's3' }), 'Notes of ada.')
  }, [['on_session_end', 2], ['on_session_switch', 's3', '', true, false], ['system_prompt_block']])
  await step('keeps the objects of several people apart', async () => {
    const bob = { ...ada, userId: 'bob', sessionId: 's3' }
    assert.deepEqual(
      [await memory.promptBlock(bob), await memory.promptBlock({ ...ada, sessionId: 's3' })],
      ['Notes of bob.', 'Notes of ada.'],
    )
  }, [
    ['initialize', 's3', { hermes_home: under.hermesHome, platform: 'web', agent_context: 'primary', user_id: 'bob' }],
    ['system_prompt_block'],
    ['system_prompt_block'],
  ])
  const none = [
    { ...adasTurn, sessionId: 'bg', taskId: 'bg_1' },
    { ...adasTurn, sessionId: 'child', taskId: 'child', rootTurnId: 't1', parentSessionId: 's3' },
    { ...adasTurn, role: 'guest' as const },
  ]
  await step('gets nothing of background tasks, sub-agents and guests', async () => {
    for (const turn of none) {
      assert.equal(await memory.recall(turn, 'Where is the key?'), '')
      memory.syncTurn(turn, answered('a', 'b'))
      memory.delegated(turn, child, 'found it')
    }
    assert.equal(await memory.promptBlock({ ...ada, sessionId: 's3', role: 'guest' }), '')
  }, [])
  await step('is shut down', () => memory.stop(), [['shutdown'], ['shutdown']])
}

async function runTool({ tools }: TestMemory, sessionId: string): Promise<unknown> {
  const [tool] = tools.list()
  assert.ok(tool !== undefined)
  const context = testToolContext({ id: 'call', name: 'notes_find', arguments: '{}' }, new AbortController().signal)
  return await tool.definition.run({ query: 'key' }, { ...context, sessionId })
}
