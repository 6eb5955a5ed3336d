/**
 * Memory providers in TypeScript and in Python keep the same contract (`contract/agent.md` S1). The one in Python is written
 * against the base class of Hermes and runs unchanged.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sleep } from '../../../src/lib/timers.ts'
import type { MemoryProvider } from '../../../src/plugins/memory-provider.ts'
import { timeout, withoutPython } from '../../hosts/support.ts'
import { pythonPluginFiles, startPythonPlugins } from '../python-support.ts'
import { runConversation } from './contract.ts'
import { createTestMemory, home } from './support.ts'

test('a memory provider in TypeScript goes through a conversation', async (t) => {
  const under = createTestMemory()
  const journal: unknown[] = []
  under.memory.register('memory/notes', createNotes(journal))
  await runConversation(t, { ...under, journal: () => journal, hermesHome: home })
})

function createNotes(journal: unknown[]): MemoryProvider {
  const write = (...line: unknown[]) => void journal.push(line)
  let objects = 0
  return {
    name: 'notes',
    isAvailable() {
      write('is_available')
      return true
    },
    initialize(sessionId, { hermesHome, platform, agentContext, userId }) {
      objects += 1
      const about = { hermes_home: hermesHome, platform, agent_context: agentContext, user_id: userId }
      write('initialize', sessionId, about)
    },
    systemPromptBlock({ userId }) {
      write('system_prompt_block')
      return `Notes of ${userId}.`
    },
    onTurnStart: (turn, message) => write('on_turn_start', turn, message),
    prefetch(query, { sessionId }) {
      write('prefetch', query, sessionId)
      return `key: drawer (${sessionId})`
    },
    queuePrefetch: (query, { sessionId }) => write('queue_prefetch', query, sessionId),
    syncTurn: (user, assistant, { sessionId, messages }) =>
      write('sync_turn', user, assistant, sessionId, messages.length),
    toolSchemas() {
      write('get_tool_schemas')
      return [{ name: 'notes_find', description: 'Finds notes', parameters: { type: 'object', properties: {} } }]
    },
    handleToolCall(name, args) {
      write('handle_tool_call', name, args)
      return '{"found": ["drawer"]}'
    },
    onDelegation: (task, result, { childSessionId }) => write('on_delegation', task, result, childSessionId),
    onMemoryWrite: (action, target, content, { metadata }) =>
      write('on_memory_write', action, target, content, metadata),
    onPreCompress(messages) {
      write('on_pre_compress', messages.length)
      return `Keep ${messages.length} messages.`
    },
    onSessionSwitch: (id, { parentSessionId, reset, rewound }) =>
      write('on_session_switch', id, parentSessionId, reset, rewound),
    onSessionEnd: (messages) => write('on_session_end', messages.length),
    // One object serves everybody.
    shutdown() {
      for (let index = 0; index < objects; index += 1) write('shutdown')
    },
  }
}

const notes = `import json, os
from agent.memory_provider import MemoryProvider, is_trivial_prompt
from hermes_constants import get_hermes_home
from plugins.memory.notes.names import TOOL
from . import names

assert is_trivial_prompt("ok!") and not is_trivial_prompt("okra") and names.TOOL is TOOL

class Notes(MemoryProvider):
    def __init__(self):
        self._session = self._user = ""

    def _write(self, *line):
        with open(get_hermes_home() / "journal", "a") as file:
            file.write(json.dumps(line) + "\\n")

    @property
    def name(self):
        return "notes"

    def is_available(self):
        self._write("is_available")
        return True

    def initialize(self, session_id, **kwargs):
        assert kwargs["gateway_session_key"] == "web:dm:1"
        self._session, self._user = session_id, kwargs["user_id"]
        keys = ("hermes_home", "platform", "agent_context", "user_id")
        self._write("initialize", session_id, {key: kwargs[key] for key in keys})

    def system_prompt_block(self):
        self._write("system_prompt_block")
        return f"Notes of {self._user}."

    def on_turn_start(self, turn_number, message, **kwargs):
        self._write("on_turn_start", turn_number, message)

    def prefetch(self, query, *, session_id=""):
        assert session_id == self._session
        self._write("prefetch", query, session_id)
        return f"key: drawer ({self._session})"

    def queue_prefetch(self, query, *, session_id=""):
        self._write("queue_prefetch", query, session_id)

    def sync_turn(self, user_content, assistant_content, *, session_id="", messages=None):
        self._write("sync_turn", user_content, assistant_content, session_id, len(messages))

    def get_tool_schemas(self):
        self._write("get_tool_schemas")
        return [{"name": TOOL, "description": "Finds notes", "parameters": {"type": "object", "properties": {}}}]

    def handle_tool_call(self, tool_name, args, **kwargs):
        self._write("handle_tool_call", tool_name, args)
        return json.dumps({"found": ["drawer"]})

    def on_delegation(self, task, result, *, child_session_id="", **kwargs):
        self._write("on_delegation", task, result, child_session_id)

    def on_memory_write(self, action, target, content, metadata=None):
        self._write("on_memory_write", action, target, content, metadata)

    def on_pre_compress(self, messages):
        self._write("on_pre_compress", len(messages))
        return f"Keep {len(messages)} messages."

    def on_session_switch(self, new_session_id, *, parent_session_id="", reset=False, rewound=False, **kwargs):
        self._session = new_session_id
        self._write("on_session_switch", new_session_id, parent_session_id, reset, rewound)

    def on_session_end(self, messages):
        self._write("on_session_end", len(messages))

    def shutdown(self):
        if self._user:
            self._write("shutdown")

def register(ctx):
    ctx.register_memory_provider(Notes())
`

const options = { skip: withoutPython, timeout }

test('a provider folder that was written for Hermes goes through the same conversation', options, async (t) => {
  const under = createTestMemory({ now: Date.now, sleep, timeoutMs: () => 30_000 })
  const files = { ...pythonPluginFiles('memory/notes', notes), 'memory/notes/names.py': 'TOOL = "notes_find"\n' }
  const plugins = await startPythonPlugins(t, {
    files,
    loading: { plugins: {}, memory: { provider: 'notes' } },
    services: { memory: under.memory },
  })
  assert.equal(plugins.report('memory/notes').reason, '')
  const file = join(plugins.home, 'journal')
  const journal = () =>
    readFileSync(file, { encoding: 'utf8', flag: 'a+' })
      .split('\n')
      .filter((line) => line !== '')
      .map((line): unknown => JSON.parse(line))
  await runConversation(t, { ...under, journal, hermesHome: home })
})
