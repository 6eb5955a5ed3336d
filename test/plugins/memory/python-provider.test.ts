/**
 * Memory providers in Python that are older, written differently, slow or broken: a turn never waits for them longer than for
 * others, and never fails with them.
 */
import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { sleep } from '../../../src/lib/timers.ts'
import { python, timeout, withoutPython } from '../../hosts/support.ts'
import { environment, type PythonSetup, pythonPluginFiles, startPythonPlugins } from '../python-support.ts'
import { ada, adasTurn, answered, createTestMemory } from './support.ts'

const options = { skip: withoutPython, timeout }

/** The provider of a plugin `memory/notes`, in use. */
async function startProvider(t: TestContext, text: string, timeoutMs = 30_000, setup: PythonSetup = {}) {
  const under = createTestMemory({ now: Date.now, sleep, timeoutMs: () => timeoutMs })
  const plugins = await startPythonPlugins(t, {
    ...setup,
    files: pythonPluginFiles('memory/notes', text),
    loading: { plugins: {}, memory: { provider: 'notes' } },
    services: { memory: under.memory },
  })
  assert.equal(plugins.report('memory/notes').reason, '')
  await under.memory.refresh()
  return { ...under, plugins }
}

suite('a memory provider in Python', options, () => {
  test('needs no base class, may be asynchronous, and may take fewer arguments', async (t) => {
    const { memory, tools, drained, log } = await startProvider(
      t,
      `import asyncio
seen = []
class Notes:
    name = "notes"
    def is_available(self):
        return True
    async def initialize(self, session_id):
        await asyncio.sleep(0)
        self.session = session_id
    async def prefetch(self, query):
        return f"{self.session}: {seen}"
    def sync_turn(self, user_content, assistant_content):
        seen.append((user_content, assistant_content))
    def on_memory_write(self, action, target, content):
        seen.append((action, target, content))
async def register(ctx):
    ctx.register_hook("post_llm_call", print)
    ctx.register_memory_provider(Notes())
`,
    )
    memory.syncTurn(adasTurn, answered('my tea is green', 'noted'))
    memory.memoryWritten({ action: 'add', target: 'user', content: 'tea' }, ada)
    assert.equal(await drained(), true)
    assert.match(
      await memory.recall(adasTurn, 'which tea?'),
      /\ns1: \[\('my tea is green', 'noted'\), \('add', 'user', 'tea'\)\]\n/,
    )
    assert.deepEqual([await memory.promptBlock(ada), tools.list().length], ['', 0])
    assert.deepEqual(
      log.records.filter(({ level }) => level === 'warn'),
      [],
    )
  })

  test('is found in a module without register', async (t) => {
    const { memory } = await startProvider(
      t,
      `from agent.memory_provider import MemoryProvider
class Notes(MemoryProvider):
    name = "notes"
    def is_available(self):
        return True
    def initialize(self, session_id, **kwargs):
        pass
    def get_tool_schemas(self):
        return []
    def prefetch(self, query, *, session_id=""):
        return "found"
`,
    )
    assert.match(await memory.recall(adasTurn, 'what do I like?'), /\nfound\n/)
  })

  test('that raises, or returns what is no text, adds nothing', async (t) => {
    const { memory, drained, tools } = await startProvider(
      t,
      `class Notes:
    name = "notes"
    def is_available(self):
        return True
    def initialize(self, session_id, **kwargs):
        pass
    def prefetch(self, query, **kwargs):
        if "object" in query:
            return object()
        if "megabyte" in query:
            return "x" * 1_000_000
        raise ValueError("broken")
    def sync_turn(self, *args, **kwargs):
        raise SystemExit(3)
    def get_tool_schemas(self):
        return {"not": "a list"}
    def handle_tool_call(self, *args, **kwargs):
        return ""
def register(ctx):
    ctx.register_memory_provider(Notes())
`,
    )
    assert.equal(await memory.recall(adasTurn, 'an object'), '')
    assert.equal(await memory.recall(adasTurn, 'an error'), '')
    memory.syncTurn(adasTurn, answered('a', 'b'))
    assert.equal(await drained(), true)
    const large = await memory.recall(adasTurn, 'a megabyte')
    assert.ok(large.length > 16_000 && large.length < 17_000)
    assert.equal(tools.list().length, 0)
  })

  test('that hangs is left behind, and goes on with what it has to store', async (t) => {
    const { memory, plugins } = await startProvider(
      t,
      `import threading
released = threading.Event()
class Notes:
    name = "notes"
    def is_available(self):
        return True
    def initialize(self, session_id, **kwargs):
        pass
    def prefetch(self, query, **kwargs):
        released.wait(60)
        return "late"
    def system_prompt_block(self):
        released.set()
        return "still there"
def register(ctx):
    ctx.register_memory_provider(Notes())
`,
      300,
    )
    assert.equal(await memory.recall(adasTurn, 'what do I like?'), '')
    assert.equal(await memory.promptBlock(ada), 'still there')
    assert.equal(plugins.hosts[0]?.host.status().kills, 0)
  })

  test('becomes available when its key comes into the environment, without a restart of the gateway', async (t) => {
    const values: Record<string, string> = { ...environment }
    const { memory } = await startProvider(
      t,
      `import os
class Notes:
    name = "notes"
    def is_available(self):
        return os.environ.get("NOTES_KEY") == "k"
    def initialize(self, session_id, **kwargs):
        pass
    def prefetch(self, query, **kwargs):
        return "remembered"
def register(ctx):
    ctx.register_memory_provider(Notes())
`,
      30_000,
      { launchOptionsOf: () => ({ env: { ...values }, command: python ?? 'python3' }) },
    )
    assert.equal(memory.activeProviderName(), undefined)
    values['NOTES_KEY'] = 'k'
    await memory.refresh()
    assert.equal(memory.activeProviderName(), 'notes')
    assert.match(await memory.recall(adasTurn, 'what do I like?'), /remembered/)
  })

  test('whose process was killed has its object again, for the same person and session', async (t) => {
    const { memory, plugins } = await startProvider(
      t,
      `class Notes:
    name = "notes"
    def is_available(self):
        return True
    def initialize(self, session_id, user_id="", **kwargs):
        self.about = f"{user_id} in {session_id}"
    def prefetch(self, query, **kwargs):
        return self.about
def register(ctx):
    ctx.register_memory_provider(Notes())
`,
    )
    assert.match(await memory.recall(adasTurn, 'who am I?'), /\nada in s1\n/)
    process.kill(plugins.pid(), 'SIGKILL')
    await plugins.log.waitForEvent('plugin.process_exited')
    assert.match(await memory.recall(adasTurn, 'who am I?'), /\nada in s1\n/)
  })
})
