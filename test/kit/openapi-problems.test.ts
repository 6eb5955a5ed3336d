import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openApiProblems } from './openapi-problems.ts'

const json = (schema: unknown) => ({ content: { 'application/json': { schema } } })

function documentWith(path: string, operation: Readonly<Record<string, unknown>>, method = 'post') {
  const described = { operationId: 'one', responses: { 200: { description: 'Done.' } }, ...operation }
  return {
    openapi: '3.1.0',
    info: { title: 'x', version: '1' },
    paths: { [path]: { [method]: described } },
    components: { schemas: { Known: { type: 'object' } }, securitySchemes: { token: {} } },
  }
}

it('a valid document has no problem', () => {
  const id = { in: 'path', name: 'id', required: true, schema: { type: 'string' } }
  const operation = {
    security: [{ token: [] }],
    parameters: [id],
    requestBody: json({ $ref: '#/components/schemas/Known' }),
  }
  assert.deepEqual(openApiProblems(documentWith('/a/{id}', operation)), [])
})

const wrong: readonly [string, ReturnType<typeof documentWith>][] = [
  ['a reference to nothing', documentWith('/a', { requestBody: json({ $ref: '#/components/schemas/Unknown' }) })],
  ['a reference to another document', documentWith('/a', { requestBody: json({ $ref: 'other.json' }) })],
  ['a path parameter that is not declared', documentWith('/a/{id}', {})],
  [
    'a path parameter that is not in the path',
    documentWith('/a', { parameters: [{ in: 'path', name: 'id', required: true, schema: {} }] }),
  ],
  [
    'a path parameter that is not required',
    documentWith('/a/{id}', { parameters: [{ in: 'path', name: 'id', schema: {} }] }),
  ],
  ['an operation without a response', documentWith('/a', { responses: {} })],
  ['a status in small letters', documentWith('/a', { responses: { '4xx': { description: 'No.' } } })],
  ['a response without a description', documentWith('/a', { responses: { 200: {} } })],
  ['a body without a schema', documentWith('/a', { requestBody: { content: { 'application/json': {} } } })],
  ['a body of GET', documentWith('/a', { requestBody: json({}) }, 'get')],
  ['a security scheme that does not exist', documentWith('/a', { security: [{ other: [] }] })],
  ['a keyword of the former version', documentWith('/a', { requestBody: json({ type: 'string', nullable: true }) })],
  ['a type that does not exist', documentWith('/a', { requestBody: json({ type: 'text' }) })],
  ['an operation without an id', documentWith('/a', { operationId: undefined })],
]
for (const [name, document] of wrong) {
  it(`${name} is one problem`, () => {
    assert.equal(openApiProblems(document).length, 1, openApiProblems(document).join('\n'))
  })
}
