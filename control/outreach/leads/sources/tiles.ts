/** Splits an area into tiles that are small enough for one query. Pure. */
import type { Area, Box } from './nominatim.ts'

/** Degrees; about 110 km from south to north. */
const LARGEST_TILE = 1
/** Degrees; about 200 m. A smaller tile is not split further. */
const SMALLEST_TILE = 0.002
/** Maximum for one area: a country gets larger tiles. */
const MOST_TILES = 400

/** Sorted from the centre outwards, because people mean the centre of what they name; the order is deterministic. */
export function tilesOf({ box, lat, lon }: Pick<Area, 'box' | 'lat' | 'lon'>): Box[] {
  const [height, breadth] = [box.north - box.south, box.east - box.west]
  const edge = Math.max(LARGEST_TILE, Math.sqrt((height * breadth) / MOST_TILES))
  const rows = Math.max(1, Math.ceil(height / edge))
  const columns = Math.max(1, Math.ceil(breadth / edge))
  const tiles = cut(box, rows, columns)
  const away = ({ south, west, north, east }: Box) => Math.hypot((south + north) / 2 - lat, (west + east) / 2 - lon)
  return tiles.toSorted((a, b) => away(a) - away(b))
}

/** Returns four quarters; null for the smallest tile. */
export function quarters(box: Box): Box[] | null {
  if (Math.max(box.north - box.south, box.east - box.west) < SMALLEST_TILE) return null
  return cut(box, 2, 2)
}

function cut({ south, west, north, east }: Box, rows: number, columns: number): Box[] {
  const lat = (row: number) => (row === rows ? north : south + ((north - south) * row) / rows)
  const lon = (column: number) => (column === columns ? east : west + ((east - west) * column) / columns)
  return Array.from({ length: rows * columns }, (_, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns]
    return { south: lat(row), west: lon(column), north: lat(row + 1), east: lon(column + 1) }
  })
}
