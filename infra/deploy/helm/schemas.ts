/**
 * JSON Schemas of Kubernetes objects, for kubeconform. Fields and types come from client-go, which is complete for its
 * version; required fields come from the OpenAPI document of kubectl's library, which is some versions older. Unknown
 * fields are errors.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** Directories of Go modules. */
export interface Modules {
  typed: string
  documented: string
}

interface TypeRef {
  namedType?: string
  scalar?: string
  list?: { elementType: TypeRef }
  map?: { fields?: { name: string; type: TypeRef }[]; elementType?: TypeRef }
}
type Type = TypeRef & { name: string }

interface Document {
  definitions: Record<
    string,
    { required?: string[]; 'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[] }
  >
}

export interface Schema {
  [key: string]: unknown
}

const SCALARS: Record<string, Schema> = {
  string: { type: 'string' },
  numeric: { type: 'number' },
  boolean: { type: 'boolean' },
  untyped: {},
}
/** Types whose schema differs from their name in client-go. */
const SPECIAL: Record<string, Schema> = {
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': { type: ['integer', 'string'] },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { type: ['number', 'string'] },
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': { type: 'string' },
  'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime': { type: 'string' },
  __untyped_atomic_: {},
  __untyped_deduced_: {},
}

/** Writes one file per kind, named as kubeconform expects: `statefulset-apps-v1.json`. */
export function writeSchemas({ typed, documented }: Modules, folder: string): void {
  const types = readTypes(readFileSync(join(typed, 'applyconfigurations/internal/internal.go'), 'utf8'))
  const document = JSON.parse(readFileSync(join(documented, 'artifacts/openapi/swagger.json'), 'utf8')) as Document
  mkdirSync(folder, { recursive: true })
  for (const [name, { 'x-kubernetes-group-version-kind': kinds = [] }] of Object.entries(document.definitions)) {
    if (!types.has(name)) continue
    const text = JSON.stringify(schemaOf(name, types, document))
    for (const { group, version, kind } of kinds) {
      const suffix = [kind.toLowerCase(), group.split('.')[0], version].filter(Boolean).join('-')
      writeFileSync(join(folder, `${suffix}.json`), text)
    }
  }
}

/** client-go embeds the types as one YAML text. */
function readTypes(program: string): Map<string, Type> {
  const text = /YAMLObject\(`([^`]+)`\)/.exec(program)?.[1]
  if (text === undefined) throw new Error('client-go has an unexpected format')
  const { types } = parse(text, { maxAliasCount: 0 }) as { types: Type[] }
  return new Map(types.map(type => [type.name, type]))
}

function schemaOf(name: string, types: ReadonlyMap<string, Type>, { definitions }: Document): Schema {
  const made: Record<string, Schema> = {}
  const waiting = [name]
  const convert = (ref: TypeRef, required: readonly string[] = []): Schema => {
    if (ref.namedType !== undefined) {
      waiting.push(ref.namedType)
      return { $ref: `#/definitions/${ref.namedType}` }
    }
    if (ref.list) return { type: 'array', items: convert(ref.list.elementType) }
    if (ref.map) return convertMap(ref.map, required, convert)
    return SCALARS[ref.scalar ?? 'untyped']!
  }
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (made[next]) continue
    const type = types.get(next)
    made[next] = {} // breaks cycles between types
    made[next] = SPECIAL[next] ?? (type ? convert(type, definitions[next]?.required) : {})
  }
  return { $schema: 'http://json-schema.org/draft-07/schema#', $ref: `#/definitions/${name}`, definitions: made }
}

function convertMap(
  { fields = [], elementType }: NonNullable<TypeRef['map']>,
  required: readonly string[],
  convert: (ref: TypeRef) => Schema,
): Schema {
  const properties = Object.fromEntries(fields.map(({ name, type }) => [name, convert(type)]))
  return {
    type: 'object',
    properties,
    required: required.filter(name => Object.hasOwn(properties, name)),
    additionalProperties: elementType ? convert(elementType) : false,
  }
}
