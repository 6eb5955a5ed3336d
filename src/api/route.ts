/**
 * A route of the JSON API as one value. The table of the server, the OpenAPI document and the client are derived from it.
 */
import type { z } from 'zod'
import type { HttpRoute } from '../platforms/http-route.ts'
import type { ApiServices } from './services.ts'

interface RouteShapes<
  Query extends z.ZodType,
  Body extends z.ZodType | 'bytes',
  Answer extends z.ZodType | FileContent,
> {
  /** One sentence. */
  readonly summary: string
  readonly query?: Query | undefined
  /** JSON of this shape. `bytes`: the handler reads the request itself. An empty body is allowed where the shape has a default. */
  readonly body?: Body | undefined
  readonly response: Answer
  /** Default: 200. */
  readonly status?: 201 | 202 | undefined
  /** A further status with which the same answer comes, such as that of a gateway that is not ready. */
  readonly alternative?: { readonly status: number; readonly description: string } | undefined
  /** Whether the response also comes as server-sent events. */
  readonly events?: true | undefined
}

/** What is known about a route without its handler. */
export interface RouteContract<
  Path extends string = string,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType | 'bytes' = z.ZodType | 'bytes',
  Answer extends z.ZodType | FileContent = z.ZodType | FileContent,
> extends RouteShapes<Query, Body, Answer> {
  readonly method: HttpRoute['method']
  /** Its variable parts are named in braces: `/api/sessions/{session_id}`. */
  readonly path: Path
  readonly access: HttpRoute['access']
  /** The group in which the OpenAPI document shows the route. */
  readonly tag: string
}

interface Handler<
  Path extends string,
  Query extends z.ZodType,
  Body extends z.ZodType | 'bytes',
  Answer extends z.ZodType | FileContent,
> {
  /**
   * A value is sent as JSON with the status of the route. Imports what it needs when it is called, because clients import routes,
   * too, and the server has all routes once one of them is asked for.
   */
  handle(services: ApiServices, asked: Asked<Path, Query, Body>): Promise<Answered<Answer> | Response>
}

export interface Route<
  Path extends string = string,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType | 'bytes' = z.ZodType | 'bytes',
  Answer extends z.ZodType | FileContent = z.ZodType | FileContent,
> extends RouteContract<Path, Query, Body, Answer>,
    Handler<Path, Query, Body, Answer> {}

/** A response that is the content of a file, or a stream of JSON lines. */
export interface FileContent {
  readonly contentType: 'application/octet-stream' | 'application/x-ndjson'
  readonly description: string
}

export interface Asked<Path extends string, Query extends z.ZodType, Body extends z.ZodType | 'bytes'> {
  /** The variable parts of the path, decoded. */
  readonly params: Readonly<Record<ParamNames<Path>, string>>
  readonly query: z.output<Query>
  readonly body: Body extends z.ZodType ? z.output<Body> : undefined
  readonly request: Request
  readonly signal: AbortSignal
}

export type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never

/** What a handler returns for a shape: readonly, and open where the shape is open. */
export type Answered<Answer> = Answer extends z.ZodType ? Readable<z.input<Answer>> : never

type Readable<Value> = Value extends readonly (infer Entry)[]
  ? readonly Readable<Entry>[]
  : Value extends object
    ? { readonly [Key in keyof Value as unknown extends Value[Key] ? never : Key]: Readable<Value[Key]> }
    : Value

/** Returns what defines the routes of a group; it keeps the types of the shapes, so that the handler and the client see them. */
export function defineRoutes(tag: string) {
  return <
    const Path extends `/${string}`,
    Answer extends z.ZodType | FileContent,
    Query extends z.ZodType = z.ZodUndefined,
    Body extends z.ZodType | 'bytes' = z.ZodUndefined,
  >(
    method: HttpRoute['method'],
    path: Path,
    route: RouteShapes<Query, Body, Answer> & Handler<Path, Query, Body, Answer>,
  ): Route<Path, Query, Body, Answer> => ({ method, path, access: 'token', tag, ...route })
}
